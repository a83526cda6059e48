"""Completion of what is typed: slash commands and their arguments, `@files`, and agents."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from pegboard_session import SlashCommand, find_agents, find_slash_commands

if TYPE_CHECKING:
    from pegboard_session import Session

MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)$")
FRESH = 2.0
"""Seconds for which the list of commands is taken as it was."""
MOST = 200
HIDDEN = frozenset({".git", "__pycache__", "node_modules", ".venv"})


class InputCompleter(Completer):
    """Completes for the session that goes on now."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self._commands: tuple[float, dict[str, SlashCommand]] = (0.0, {})

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What could follow."""
        before, session = document.text_before_cursor, self.session
        if session is None:
            return
        if before.startswith("/") and "\n" not in before:
            yield from self._slash(session, before[1:])
        elif found := MENTION.search(before):
            yield from self._mention(session, found[1])

    def commands(self, session: Session) -> dict[str, SlashCommand]:
        """The commands, looked for again every few seconds."""
        when, found = self._commands
        if time.monotonic() - when > FRESH:
            found = find_slash_commands(session)
            self._commands = (time.monotonic(), found)
        return found

    def _slash(self, session: Session, typed: str) -> Iterator[Completion]:
        name, space, arguments = typed.partition(" ")
        commands = self.commands(session)
        if not space:
            for each in commands.values():
                if each.name.startswith(name):
                    yield Completion(each.name, -len(name), display=f"/{each.name}", display_meta=each.summary)
        elif (command := commands.get(name)) and command.complete:
            for word in command.complete(session, arguments.lstrip()):
                yield Completion(word, -len(arguments.lstrip()))

    def _mention(self, session: Session, typed: str) -> Iterator[Completion]:
        for agent in find_agents(session.board).values():
            if agent.name.lower().startswith(typed.lower()):
                yield Completion(agent.name, -len(typed), display=f"@{agent.name}", display_meta="agent")
        yield from _files(str(session.current.cwd), typed)


def _files(cwd: str, typed: str) -> Iterator[Completion]:
    """Files and folders that continue a path, as far as it is typed."""
    folder, _, beginning = typed.rpartition("/")
    place = os.path.join(cwd, os.path.expanduser(f"{folder}/")) if folder or typed.startswith("/") else cwd
    try:
        with os.scandir(place) as entries:
            found = sorted(
                (entry.name + "/" * entry.is_dir() for entry in entries if entry.name not in HIDDEN), key=str.lower
            )
    except OSError:
        return
    shown = [name for name in found if name.lower().startswith(beginning.lower()) and name.isprintable()]
    for name in [name for name in shown if beginning or not name.startswith(".")][:MOST]:
        yield Completion(name, -len(beginning), display=name)
