"""How long five MCP servers take to connect that each wait half a second, compared with one of them alone."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import mcp
from anyio import run

from pegboard import Board

from .harness import Comparison, Pace, interleave

WAIT = 0.5
SERVERS = 5
SOURCE = f"""
import json, sys, time
time.sleep({WAIT})
about = {{"protocolVersion": "2025-11-25", "serverInfo": {{"name": "slow", "version": "1"}}}}
tool = {{"name": "echo", "inputSchema": {{"type": "object"}}}}
answers = {{"initialize": {{**about, "capabilities": {{"tools": {{}}}}}}, "tools/list": {{"tools": [tool]}}}}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answers.get(request["method"])
    said = {{"result": result}} if result else {{"error": {{"code": -32601, "message": "no such method"}}}}
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], **said}}), flush=True)
"""


async def seconds_to_connect(count: int, folder: Path) -> float:
    """From the start of the session to the moment at which the tools of every server are known."""
    entry = {"command": sys.executable, "args": ["-S", "-c", SOURCE]}
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    board = Board.load(cwd=folder, env=env, settings={"mcpServers": {f"slow{n}": entry for n in range(count)}})
    hub = board.services.others["mcp"]
    began = time.perf_counter()
    hub.start(board.equip(board.context()))
    await hub.reached(list(hub.connections.values()))
    taken = time.perf_counter() - began
    states = {one.state for one in hub.connections.values()}
    hub.close()
    if states != {"ready"}:
        raise RuntimeError(f"not every server connected: {states}")
    return taken


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Five servers at once, against one."""
    assert mcp.Client  # Imported before the clock starts: what it costs is another question.
    with tempfile.TemporaryDirectory() as home:
        names = {1: "one server", SERVERS: f"{SERVERS} servers at once"}
        cases = {name: lambda c=count: run(seconds_to_connect, c, Path(home)) for count, name in names.items()}
        samples = interleave(cases, pace.rounds(9))
    yield Comparison("servers/connect", f"connecting to MCP servers that wait {WAIT} s", samples, "one server")
