"""What `pegboard doctor` and `pegboard mcp list` say about each server without starting it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pegboard import Fine, Settings
from pegboard.wording import counted
from pegboard_mcp.config import ConfigError, ServerConfig
from pegboard_mcp.reading import find_servers
from pegboard_mcp.stdio import process_spec
from pegboard_mcp.store import Shelf


def findings(settings: Settings, env: Mapping[str, str]) -> list[str]:
    """A finding for each server and each entry that cannot be used."""
    servers, notices = find_servers(settings, env)
    found = [str(notice) for notice in notices]
    for server in servers:
        problem = problem_of(server, settings, env)
        state = f"The MCP server {server.name}: {problem or summary_of(server, env)}"
        found.append(state if problem else Fine(state))
    return found


def problem_of(server: ServerConfig, settings: Settings, env: Mapping[str, str]) -> str:
    """What would keep a server from starting, as a sentence."""
    if not server.enabled:
        return ""
    if Shelf(server, env).entry_change() is not None:
        return f"Its command or address has changed. Look at it: pegboard mcp approve {server.name}"
    try:
        if server.kind == "stdio":
            process_spec(server, Path(settings.cwd))
        else:
            server.text("url")
            server.map("headers")
    except ConfigError as error:
        return str(error)
    return ""


def summary_of(server: ServerConfig, env: Mapping[str, str]) -> str:
    """What is known about a server."""
    if not server.enabled:
        return "It is disabled."
    listing = Shelf(server, env).listing()
    if listing is None:
        return "It was never reached. Try it: pegboard mcp test " + server.name
    return f"{counted(len(listing.tools), 'tool')} when it was last reached."
