"""`pegboard mcp add`: describe a server in your settings or in the project's .mcp.json."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from pegboard import DefinitionError
from pegboard_mcp.commands import files
from pegboard_mcp.commands.shared import parser, settings_for
from pegboard_mcp.config import problems
from pegboard_mcp.names import poses, server_part

EXAMPLES = """\
  pegboard mcp add files npx -y @modelcontextprotocol/server-filesystem .
  pegboard mcp add --env API_KEY='${API_KEY}' notes notes-server
  pegboard mcp add --header 'Authorization: Bearer ${TOKEN}' docs https://example.com/mcp
  pegboard mcp add --scope project --type sse old https://example.com/sse
"""


def run(words: Sequence[str]) -> int:
    """Add a server; options come before its name."""
    made = parser("add", "Add an MCP server. Options come before the name.", EXAMPLES)
    made.add_argument("--scope", choices=files.SCOPES, default="user", help="where to write it (default: user)")
    made.add_argument(
        "--type", choices=("stdio", "http", "sse"), help="how to connect (default: chosen by COMMAND or URL)"
    )
    made.add_argument("--env", action="append", metavar="NAME=VALUE", help="an environment variable for the server")
    made.add_argument("--header", action="append", metavar="'NAME: VALUE'", help="an HTTP header for the server")
    made.add_argument("--force", action="store_true", help="replace an existing server with this name")
    made.add_argument("name", metavar="NAME", help="what to call it")
    made.add_argument("address", metavar="COMMAND|URL", help="the command to start, or the URL to connect to")
    rest = made.add_argument("args", nargs=argparse.REMAINDER, metavar="ARG", help="the arguments of the command")
    rest.required = False  # Python 3.11 lists it among the arguments that are missing.
    given = made.parse_args(words)
    entry = _entry(made, given)
    if wrong := next(problems(entry), ""):
        raise DefinitionError(f"{given.name}: {wrong}")
    if poses(given.name) or not server_part(given.name):
        raise DefinitionError(f"{given.name!r} is not a valid server name. Use letters, digits, - and _.")
    settings = settings_for(given)
    path = files.file_of(given.scope, settings)
    whole = files.read(path)
    table = files.servers_in(whole, path)
    if given.name in table and not given.force:
        raise DefinitionError(f"{path} already has a server {given.name!r}. Use --force to replace it.")
    table[given.name] = entry
    files.write(path, whole)
    sys.stdout.write(f"Added {given.name} to {path}. Try it: pegboard mcp test {given.name}\n")
    return 0


def _entry(made: argparse.ArgumentParser, given: argparse.Namespace) -> dict[str, Any]:
    remote = given.type in ("http", "sse") or given.address.startswith(("http://", "https://"))
    entry: dict[str, Any] = {"type": given.type or "http"} if remote else {}
    if remote:
        entry["url"] = given.address
        if given.args:
            made.error("a server with a URL takes no arguments")
    else:
        entry |= {"command": given.address, "args": given.args} if given.args else {"command": given.address}
    pairs = [(text.partition("="), "env", "NAME=VALUE", text) for text in given.env or ()]
    pairs += [(text.partition(":"), "headers", "NAME: VALUE", text) for text in given.header or ()]
    for (name, mark, value), field, shape, text in pairs:
        if not mark or not name.strip():
            made.error(f"expected {shape}, got {text!r}")
        entry.setdefault(field, {})[name.strip()] = value.strip()
    return entry
