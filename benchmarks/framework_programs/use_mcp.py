"""mcp: a client and a server in one process; a turn is so many calls at once."""

import asyncio

from mcp import Client
from mcp.server import MCPServer
from play import TOOLS, given, measure

server = MCPServer("s")
for function in TOOLS.values():
    server.add_tool(function)


async def turn(tool, calls):
    async with Client(server) as client:
        results = await asyncio.gather(*(client.call_tool(tool, given()) for _ in range(calls)))
    assert not any(result.is_error for result in results)


measure(turn)
