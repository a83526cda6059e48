"""`pegboard mcp remove`: take a server out of your settings or out of the project's .mcp.json."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pegboard import DefinitionError
from pegboard_mcp.commands import files
from pegboard_mcp.commands.shared import parser, settings_for
from pegboard_mcp.config import ServerConfig
from pegboard_mcp.store import Shelf


def run(words: Sequence[str]) -> int:
    """Remove a server, with what is kept about it: its tools, approvals and login."""
    made = parser("remove", "Remove an MCP server, with its tools, approvals and login.")
    made.add_argument("--scope", choices=files.SCOPES, help="which file to remove it from, if it is in both")
    made.add_argument("name", metavar="NAME", help="the server")
    given = made.parse_args(words)
    settings = settings_for(given)
    paths = {scope: files.file_of(scope, settings) for scope in files.SCOPES if given.scope in (None, scope)}
    wholes = {scope: files.read(path) for scope, path in paths.items()}
    found = [scope for scope, path in paths.items() if given.name in files.servers_in(wholes[scope], path)]
    if not found:
        raise DefinitionError(f"There is no MCP server {given.name!r} in {' or '.join(paths.values())}.")
    if len(found) > 1:
        raise DefinitionError(f"{given.name!r} is in both files. Say which one: --scope user or --scope project.")
    scope = found[0]
    entry = files.servers_in(wholes[scope], paths[scope]).pop(given.name)
    files.write(paths[scope], wholes[scope])
    if isinstance(entry, dict):
        root = os.path.realpath(settings.root) if scope == "project" else ""
        Shelf(ServerConfig(given.name, entry, scope=root), os.environ).forget()
    sys.stdout.write(f"Removed {given.name} from {paths[scope]}.\n")
    return 0
