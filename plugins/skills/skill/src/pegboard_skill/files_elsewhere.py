"""Whether arguments in a command of a skill may name a file elsewhere: what the skill allows is not meant for it.

Bash knows what many programs touch; about others it says that they may touch anything. There the words have to tell.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pegboard import Context, Facts, ResolvedPath
from pegboard.permission import WorkingDirectories

LEADS_AWAY = re.compile(
    r"\.\.(?:[/\s'\"},]|$)"  # to the folder above
    r"|[~*?\[{\0]"  # what the shell would replace, and what no path can hold
    r"|(?<![\w.])(?<!https:)(?<!https:/)(?<!http:)(?<!http:/)/"  # from the root, but in an address of the web
)
ADDRESS = re.compile(r"https?://")
LONGEST = 4_000
"""Characters of a value that is looked at: each end of each word in it costs a look at the disk."""
WORDS = re.compile(r"[\s'\";|&<>()]+")


@dataclass(frozen=True, slots=True)
class _Given:
    """What was put into a command, and what the skill names itself: its folder, and words of its template."""

    values: tuple[str, ...]
    folder: str
    template: str

    def may_be_elsewhere(self, facts: Facts, ctx: Context) -> bool:
        own = {os.path.normpath(ctx.resolve(word)) for word in WORDS.split(self.template) if word and "$" not in word}
        inside = WorkingDirectories.of(ctx)
        if not all(inside.contain(path) or self._is_own(path, own) for path in facts.paths):
            return True
        return facts.open_world and any(_leads_away(value, inside, ctx) for value in self.values)

    def _is_own(self, path: ResolvedPath, own: set[str]) -> bool:
        if not path.sound:
            return False
        folders = (f"{self.folder}/", f"{os.path.realpath(self.folder)}/")
        return all(name.startswith(folders) for name in path.spellings) or not own.isdisjoint(path.spellings)


_given: ContextVar[_Given | None] = ContextVar("what is given to the command that is inserted", default=None)


@contextmanager
def inserting(values: list[str], folder: str, template: str) -> Iterator[None]:
    """While a command runs whose template got these values."""
    token = _given.set(_Given(tuple(values), folder, template) if values else None)
    try:
        yield
    finally:
        _given.reset(token)


def grants_count(facts: Facts, ctx: Context) -> bool:
    """Whether what a skill allows counts for a call: not where arguments may have named a file elsewhere."""
    given = _given.get()
    return given is None or not given.may_be_elsewhere(facts, ctx)


def _leads_away(value: str, inside: WorkingDirectories, ctx: Context) -> bool:
    if len(value) > LONGEST:
        return True
    try:
        words = [*value.split(), *shlex.split(value)]
    except ValueError:
        words = value.split()
    if any(LEADS_AWAY.search(text) for text in (value, *words)):
        return True
    return any(_is_outside(word, inside, ctx) for word in words if not ADDRESS.match(word))


def _is_outside(word: str, inside: WorkingDirectories, ctx: Context) -> bool:
    """Whether a word, or what follows an option in it, leads out of the working directories by a link."""
    names = [word, *(rest for at in range(1, len(word)) if os.path.lexists(ctx.resolve(rest := word[at:])))]
    return not all(inside.hold(os.path.realpath(ctx.resolve(name))) for name in names)
