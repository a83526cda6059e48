"""fastmcp: a client and a server in one process; a turn is so many calls at once."""

import asyncio

from fastmcp import Client, FastMCP
from play import TOOLS, given, measure

server = FastMCP("s")
for function in TOOLS.values():
    server.tool(function)


async def turn(tool, calls):
    async with Client(server) as client:
        results = await asyncio.gather(*(client.call_tool(tool, given()) for _ in range(calls)))
    assert not any(result.is_error for result in results)


measure(turn)
