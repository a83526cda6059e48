"""Commands made up from bash's own grammar, a place to run them in, and a look at what they did there."""
