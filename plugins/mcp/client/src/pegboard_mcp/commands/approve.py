"""`pegboard mcp approve`: see what has changed about a server since it was approved, and approve it."""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pegboard_mcp.commands.shared import parser, printable, servers_of, settings_for
from pegboard_mcp.config import ServerConfig
from pegboard_mcp.definitions import read_definitions
from pegboard_mcp.store import Shelf


def run(words: Sequence[str]) -> int:
    """Show the differences, ask, and pin what is there now."""
    made = parser("approve", "Show what has changed about an MCP server since it was approved, and approve it.")
    made.add_argument("--yes", action="store_true", help="approve without asking")
    made.add_argument("name", metavar="NAME", help="the server")
    given = made.parse_args(words)
    (server,), _ = servers_of(settings_for(given), given.name)
    shelf = Shelf(server, os.environ)
    was = shelf.entry_change()
    listing = shelf.listing()
    tools = read_definitions(server, listing.tools, shelf)[0] if listing else []
    changed = [one for one in tools if one.is_changed]
    if was is None and not changed:
        sys.stdout.write(f"Nothing has changed about {server.name} since it was approved.\n")
        return 0
    if was is not None:
        sys.stdout.write(printable(entry_difference(was, server)) + "\n")
    for one in changed:
        sys.stdout.write(f"{one.name}:\n{printable(one.difference())}\n")
    if not given.yes and not _agrees():
        sys.stdout.write("Nothing was approved.\n")
        return 1
    if was is not None:
        shelf.approve_entry()
    shelf.approve_all({one.tool: one.data for one in changed})
    sys.stdout.write(f"Approved {server.name}.\n")
    return 0


def entry_difference(was: Mapping[str, Any], server: ServerConfig) -> str:
    """What is started or reached now, and what was, as a diff."""
    before, after = (json.dumps(dict(one), indent=1, sort_keys=True).splitlines() for one in (was, server.entry))
    return "\n".join(difflib.unified_diff(before, after, "approved", server.source, lineterm=""))


def _agrees() -> bool:
    if not sys.stdin.isatty():
        sys.stderr.write("pegboard: there is no terminal to ask on. Add --yes to approve.\n")
        return False
    sys.stderr.write("Approve it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
