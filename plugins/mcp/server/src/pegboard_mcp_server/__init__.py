"""Serve the tools of Pegboard over MCP: `pegboard mcp serve`.

Only what this command runs imports the SDK, which takes a second; importing this package imports nothing.
"""
