"""Small languages that programs run: what a script in them would do."""
