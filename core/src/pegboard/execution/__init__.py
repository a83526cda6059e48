"""How calls run: dispatch is one call from start to end."""
