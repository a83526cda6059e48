"""May this call run? Decisions that explain themselves."""
