"""What the sub-commands share: their options, the settings of the folder, and the servers there."""

from __future__ import annotations

import argparse
import os
import sys

from pegboard import DefinitionError, Notice, Settings
from pegboard.settings import load, project_root, working_directory
from pegboard.wording import did_you_mean
from pegboard_mcp.config import ServerConfig
from pegboard_mcp.reading import find_servers
from pegboard_trust import Trust


def parser(name: str, what: str, examples: str = "") -> argparse.ArgumentParser:
    """A parser for one sub-command."""
    made = argparse.ArgumentParser(
        prog=f"pegboard mcp {name}",
        description=what,
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--cwd", metavar="DIR", help="work in this folder")
    made.add_argument("--mcp-config", action="append", metavar="FILE", help="more servers: a file or JSON")
    return made


def settings_for(given: argparse.Namespace) -> Settings:
    """The settings of the folder; whether its project is trusted is known before any file of it is read."""
    store = Trust.of()
    root = project_root(os.path.abspath(given.cwd or working_directory()), os.environ)
    cli = {"mcp": {"config": given.mcp_config}} if given.mcp_config else {}
    settings = load(given.cwd, cli=cli, trusted=store.trusts(root), vouches=store.vouches)
    settings.require_sound()
    return settings


def servers_of(settings: Settings, name: str = "") -> tuple[list[ServerConfig], list[Notice]]:
    """All servers, or the one with this name; `DefinitionError` if there is none."""
    servers, notices = find_servers(settings, os.environ)
    if not name:
        return servers, notices
    chosen = [server for server in servers if server.name == name]
    if not chosen:
        warn(notices)
        names = [server.name for server in servers]
        known = ", ".join(names) or "none"
        raise DefinitionError(f"There is no MCP server {name!r}.{did_you_mean(name, names)} The servers are: {known}.")
    return chosen, notices


def warn(notices: list[Notice]) -> None:
    """Say on standard error what a person should know."""
    for notice in notices:
        sys.stderr.write(f"pegboard: warning: {printable(str(notice))}\n")


def printable(text: str) -> str:
    """Words of a server or a file without characters that would move the cursor or hide others."""
    return "".join(letter if letter.isprintable() or letter == "\n" else f"<U+{ord(letter):04X}>" for letter in text)
