"""The sub-commands of `pegboard mcp`. A module is imported when its command is run."""
