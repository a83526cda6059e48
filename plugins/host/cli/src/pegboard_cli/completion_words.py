"""The words that complete a command line, from the commands' own options and what is installed here."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, suppress
from typing import Any

from pegboard_cli import options
from pegboard_cli.main import COMMANDS

# Imports happen inside functions: each completion pays only for what it needs.

NEWEST_SESSIONS = 50


class CapturedParser(BaseException):
    """Carries the parser out of a command that was about to read its words. No `except Exception` may stop it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def parser_of(command: str) -> argparse.ArgumentParser | None:
    """The options of a command. One of another distribution shows them with a function `parser` in its module."""
    from importlib import import_module

    if command not in COMMANDS:
        from pegboard_cli.help import foreign_commands

        owner = next((known for known in foreign_commands() if known["name"] == command), None)
        make = getattr(import_module(owner["value"].partition(":")[0]), "parser", None) if owner else None
        return make() if callable(make) else None
    module = import_module(f"pegboard_cli.{command}_command")
    try:
        with options.capturing(CapturedParser):
            module.run(["--help"])  # Never shown: the parser is caught before it reads a word.
    except CapturedParser as captured:
        return captured.parser
    return None


def completions(before: list[str], last: str) -> list[str]:
    """What the last word may become."""
    if not before:
        return [*COMMANDS, *_foreign_names(), "--help", "--version", "--print"]
    with suppress(Exception), open(os.devnull, "w") as nothing, redirect_stderr(nothing):
        # A broken setting or plugin must not put its message into a command line.
        parser = parser_of(before[0])
        return _for_parser(parser, before, last) if parser else []
    return []


def _for_parser(parser: argparse.ArgumentParser, before: list[str], last: str) -> list[str]:
    flags = {flag: action for action in parser._actions for flag in action.option_strings}
    if last.startswith("-"):
        return list(flags)
    action = flags.get(before[-1])
    if action and (action.nargs != 0):
        return values_of(action, before, last)
    given = _positionals(before[1:], flags)
    places = [action for action in parser._actions if not action.option_strings]
    if not places:
        return []
    return values_of(places[min(len(given), len(places) - 1)], [before[0], *given], last)


def _positionals(words: list[str], flags: dict[str, argparse.Action]) -> list[str]:
    """The words that are neither options nor their values."""
    found: list[str] = []
    is_value = False
    for word in words:
        if word in flags:
            is_value = flags[word].nargs != 0
        elif is_value:
            is_value = False
        else:
            found.append(word)
    return found


def values_of(action: argparse.Action, before: list[str], last: str) -> list[str]:
    """What may be an option's value or a word. Nothing means: a file, or text of one's own."""
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    find = VALUES.get((before[0], action.dest)) or VALUES.get(("", action.dest))
    if find is None:
        return []
    if action.dest in LISTS:
        done, _, _ = last.rpartition(",")
        return [f"{done},{name}" if done else name for name in find(before) if name not in done.split(",")]
    return list(find(before))


def _foreign_names() -> list[str]:
    from pegboard_cli.help import foreign_commands

    return [known["name"] for known in foreign_commands()]


def _families(before: list[str]) -> Iterable[str]:
    from pegboard.hosting import FAMILIES

    return FAMILIES


def _tools(before: list[str]) -> Iterable[str]:
    from pegboard.settings import load
    from pegboard_cli.tools_command import the_pool

    return the_pool(load()).names


def _named_tool(before: list[str]) -> Iterable[str]:
    """After the name of a tool comes its input; after `search`, words."""
    wanted = {"call": ["call"], "why": ["why"], "tools": ["tools", "show"]}
    return _tools(before) if before == wanted.get(before[0]) else []


def _settings(before: list[str]) -> Iterable[str]:
    from pegboard.settings import installed_keys

    return list(installed_keys())


def _board() -> Any:
    from pegboard import Board

    return Board.load()


def _modes(before: list[str]) -> Iterable[str]:
    return [mode for mode in _board().hooks.modes if isinstance(mode, str)]


def _agents(before: list[str]) -> Iterable[str]:
    from pegboard_session import find_agents

    return sorted(find_agents(_board()))


def _providers(before: list[str]) -> Iterable[str]:
    from pegboard_session import find_providers

    return sorted(find_providers(_board()))


def _models(before: list[str]) -> Iterable[str]:
    """The models that are known by name: rows of the table without a wildcard, and their aliases."""
    from pegboard_session import ModelTable, find_providers

    board = _board()
    name, found = board.settings.get("provider"), find_providers(board)
    if name not in found:
        return []
    return ModelTable.of(board, found[name]).names()


def _sessions(before: list[str]) -> Iterable[str]:
    from pegboard_cli.earlier_session import store

    kept = store()
    return [path.stem[:12] for path in kept.all()[:NEWEST_SESSIONS]] if kept else []


VALUES: dict[tuple[str, str], Callable[[list[str]], Iterable[str]]] = {
    ("", "only"): _families,
    ("", "no_family"): _families,
    ("", "no_tool"): _tools,
    ("", "tools"): _tools,
    ("", "exclude_tools"): _tools,
    ("", "tool"): _tools,
    ("", "permission_mode"): _modes,
    ("", "mode"): _modes,
    ("", "agent"): _agents,
    ("", "provider"): _providers,
    ("", "model"): _models,
    ("", "resume"): _sessions,
    ("", "session"): _sessions,
    ("sessions", "id"): _sessions,
    ("settings", "names"): _settings,
    ("call", "name"): _named_tool,
    ("why", "name"): _named_tool,
    ("tools", "words"): _named_tool,
}
"""What completes the value of an option or a word, by the command (empty: any) and the name of the value."""

LISTS = frozenset({"only", "tools", "exclude_tools"})
"""Values that are lists with commas."""
