"""`pegboard mcp`: find the sub-command and run it. Other distributions add theirs, such as `serve`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import entry_points

from pegboard.wording import nearest

GROUP = "pegboard.mcp_commands"
"""An entry point names a module with `run(words) -> int`; the first line of its docstring is shown in the help."""

OWN = {
    "list": "list the servers, and what is known about them",
    "test": "connect to servers and list their tools",
    "add": "add a server to your settings or to .mcp.json",
    "remove": "remove a server",
    "login": "log in to a server with a browser",
    "approve": "show what has changed about a server, and approve it",
}
"""The sub-commands of this distribution and what each does."""


def run(words: Sequence[str]) -> int:
    """Work with MCP servers."""
    name, rest = (words[0], words[1:]) if words else ("--help", [])
    if name in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0
    act = find(name)
    if act is None:
        close = nearest(name, names(), limit=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        sys.stderr.write(f"pegboard mcp: There is no sub-command {name!r}.{hint} See pegboard mcp --help.\n")
        return 2
    return act(rest)


def find(name: str) -> Callable[[Sequence[str]], int] | None:
    """The function behind a sub-command."""
    if name in OWN:
        act: Callable[[Sequence[str]], int] = import_module(f"pegboard_mcp.commands.{name}").run
        return act
    for point in entry_points(group=GROUP, name=name):
        found: Callable[[Sequence[str]], int] = point.load().run
        return found
    return None


def names() -> list[str]:
    """Every sub-command."""
    return [*OWN, *sorted(point.name for point in entry_points(group=GROUP) if point.name not in OWN)]


def help_text() -> str:
    """What `pegboard mcp --help` prints. Nothing but the names of other distributions' sub-commands is read."""
    rows = [(name, OWN.get(name) or _summary(name)) for name in names()]
    listed = "".join(f"  {name:<8} {summary}\n" for name, summary in rows)
    return f"usage: pegboard mcp COMMAND [...]\n\nWork with MCP servers.\n\ncommands:\n{listed}"


def _summary(name: str) -> str:
    (point, *_) = entry_points(group=GROUP, name=name)
    words = (point.load().__doc__ or "").strip().partition("\n")[0]
    return words.rpartition("`: ")[2].rstrip(".")
