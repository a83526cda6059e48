"""Serve the tools of Pegboard over MCP: `pegboard mcp serve`.

A tool that is served can ask the client things with `ctx.service("mcp_client")`::

    answer = await ctx.service("mcp_client").elicit("Which one?", {"type": "object", "properties": {...}})

Only the command imports the SDK, which takes a second.
"""

from pegboard_mcp_server.wishes import Form, Roots, Sample

__all__ = ["Form", "Roots", "Sample"]
