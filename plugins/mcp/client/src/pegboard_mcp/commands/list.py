"""`pegboard mcp list`: the servers, where each is written, and what is known about it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from pegboard import Settings
from pegboard_mcp.commands.shared import parser, printable, servers_of, settings_for, warn
from pegboard_mcp.config import ServerConfig
from pegboard_mcp.diagnosis import problem_of, summary_of
from pegboard_mcp.limits import is_trusted
from pegboard_mcp.store import Shelf


def run(words: Sequence[str]) -> int:
    """List the servers without starting any."""
    made = parser("list", "List the MCP servers that can be used here. None is started.")
    made.add_argument("--json", action="store_true", help="print JSON")
    given = made.parse_args(words)
    settings = settings_for(given)
    servers, notices = servers_of(settings)
    warn(notices)
    rows = [row_of(server, settings) for server in servers]
    if given.json:
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return 0
    for row in rows:
        sys.stdout.write(f"{row['name']}  ({row['type']}, {row['from']})\n")
        sys.stdout.write(f"  {printable(row['address'])}\n  {printable(row['problem'] or row['summary'])}\n")
    if not rows:
        sys.stdout.write("There are no MCP servers here. Add one: pegboard mcp add NAME COMMAND\n")
    return 0


def row_of(server: ServerConfig, settings: Settings) -> dict[str, Any]:
    """A server for a listing. Variables stay as they are written: they may hold secrets."""
    listing = Shelf(server, os.environ).listing()
    return {
        "name": server.name,
        "type": server.kind,
        "address": server.address,
        "from": server.source,
        "enabled": server.enabled,
        "trusted": is_trusted(server, settings),
        "tools": [tool["name"] for tool in listing.tools] if listing else None,
        "problem": problem_of(server, settings, os.environ),
        "summary": summary_of(server, os.environ),
    }
