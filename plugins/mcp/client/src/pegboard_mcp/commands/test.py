"""`pegboard mcp test`: connect to servers and say what they have, or why they cannot be reached."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import anyio

from pegboard import Board
from pegboard.wording import counted
from pegboard_mcp.commands.shared import parser, printable, servers_of, settings_for, warn
from pegboard_mcp.connection import Connection
from pegboard_mcp.hub import Hub


def run(words: Sequence[str]) -> int:
    """Connect to one server or to all, and list their tools."""
    made = parser("test", "Connect to MCP servers and list their tools.", "  pegboard mcp test github\n")
    made.add_argument("--json", action="store_true", help="print JSON")
    made.add_argument("name", nargs="?", default="", metavar="NAME", help="the server (default: all)")
    given = made.parse_args(words)
    settings = settings_for(given)
    chosen, notices = servers_of(settings, given.name)
    warn(notices if not given.name else [])
    board = Board.load(settings=settings)
    hub: Hub | Any = board.services.others.get("mcp")
    names = [server.name for server in chosen]
    connections = anyio.run(reach, board, hub, names) if hub and chosen else []
    rows = [row_of(connection) for connection in connections]
    if given.json:
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    else:
        for connection in connections:
            show(connection)
    return int(any(row["state"] != "ready" for row in rows))


async def reach(board: Board, hub: Hub, names: Sequence[str]) -> list[Connection]:
    """Connect to these servers, all at once, and close them again."""
    hub.connections = {name: hub.connections[name] for name in names if name in hub.connections}
    hub.start(board.equip(board.context()))
    found = list(hub.connections.values())
    try:
        await hub.reached(found)
        states = [(one, one.state, one.problem) for one in found]
    finally:
        await anyio.to_thread.run_sync(hub.close)
    for connection, state, problem in states:
        connection.state, connection.problem = state, problem
    return found


def row_of(connection: Connection) -> dict[str, Any]:
    """A server for programs."""
    return {
        "name": connection.server.name,
        "state": connection.state,
        "problem": connection.problem,
        "tools": [one.name for one in connection.definitions],
        "changed": [one.name for one in connection.definitions if one.is_changed],
        "refused": connection.refused,
        "prompts": [prompt["name"] for prompt in connection.listing.prompts],
        "resources": connection.listing.has_resources,
    }


def show(connection: Connection) -> None:
    """A server for people."""
    name, out = connection.server.name, sys.stdout
    if connection.state != "ready":
        out.write(f"{name}: {printable(connection.problem)}\n")
        return
    out.write(f"{name}: connected, {counted(len(connection.definitions), 'tool')}\n")
    for one in connection.definitions:
        changed = "  (changed since it was approved)" if one.is_changed else ""
        out.write(f"  {one.name}{changed}\n")
    for words in connection.refused:
        out.write(f"  ! {printable(words)}\n")
