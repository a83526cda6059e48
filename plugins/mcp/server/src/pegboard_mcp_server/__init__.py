"""Serve the tools of Pegboard over MCP."""
