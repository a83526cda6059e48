"""The closed subset: plain words and quoted literals, pipes, lists, reading redirects. Everything else is outside.

Each character of its alphabet means one thing wherever it occurs, so nothing in it can be parsed in two ways. Where
nothing confines a command that only reads, this is all that is approved.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pegboard_bash.lexer import Token
from pegboard_bash.syntax import KEYWORD, Simple
from pegboard_bash.word_builder import WordBuilder
from pegboard_bash.words import Mark

END = r"(?=[ \t\n;|&<>]|\Z)"
TOKEN = re.compile(
    rf"""
      (?P<blank>[ \t]+)
    | (?P<twin>[12]?)>&(?P<other>[12]){END}
    | (?P<sink>[12]?|&)(?P<into>>>?)[ \t]*(?P<null>/dev/null){END}
    | (?P<source><)[ \t]*(?=[A-Za-z0-9_./'"])
    | (?P<operator>&&|\|\||\||;|\n)
    | (?P<bare>[A-Za-z0-9_./:=@%+,^-]+{END})
    | (?P<word>(?:[A-Za-z0-9_./:=@%+,^-]|(?<=[A-Za-z0-9])~|'[ -&(-~\n]*'|"[ !\#%-\[\]-_a-~\n]*")+{END})
    """,
    re.VERBOSE,
)
PIECES = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+)""")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class SubsetReading(NamedTuple):
    """The marks and commands of a text in the subset."""

    marks: set[tuple[Any, ...]]
    commands: list[Simple]


def read(text: str) -> SubsetReading | None:
    """Read a text; None where it is outside the subset. Its work grows with the length alone."""
    reader = _Reader()
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None or not reader.take(found):
            return None
        at = found.end()
    return reader.found if reader.ends() else None


class _Reader:
    def __init__(self) -> None:
        self.found = SubsetReading(set(), [])
        self._words: list[Token] = []
        self._marks: list[Mark] = []
        self._input = -1
        """The position of a `<` that still needs its file."""
        self._open = False
        """Whether an operator waits for its right side."""

    def take(self, found: re.Match[str]) -> bool:
        """Take the next token; False where it has no place."""
        kind = found.lastgroup
        if kind == "blank":
            return True
        if kind in ("bare", "word"):
            return self._word(found, kind == "bare")
        if self._input >= 0:
            return False
        if kind == "operator":
            return self._operator(found[0], found.start())
        if not self._words:
            return False
        if kind == "source":
            self._input = found.start()
            return True
        operator, name = (">&", "other") if kind == "other" else (found["into"], "null")
        operator = f"&{operator}" if found["sink"] == "&" else operator
        self.found.marks.add(("redirect", found.start(), operator, (found.start(name), found[name])))
        return True

    def _word(self, found: re.Match[str], bare: bool) -> bool:
        token = Token(found.start(), found.end(), found[0], None if bare else _spelled(found[0]))
        if self._input >= 0:
            self.found.marks.add(("redirect", self._input, "<", token.mark))
            self._input = -1
            return True
        if not self._words and (KEYWORD.fullmatch(token.source) or ASSIGNMENT.match(token.source)):
            return False
        self._words.append(token)
        self._marks.append(token.mark)
        self._open = False
        return True

    def _operator(self, operator: str, at: int) -> bool:
        if not self._words:
            return operator == "\n"
        self._close()
        if operator in ("&&", "||", "|"):
            self.found.marks.add((at, operator))
            self._open = True
        return True

    def _close(self) -> None:
        if self._words:
            self.found.marks.add(("command", tuple(self._marks)))
            self.found.commands.append(Simple([], self._words, []))
        self._words, self._marks = [], []

    def ends(self) -> bool:
        """Whether the text may end here."""
        self._close()
        return not self._open and self._input < 0


def _spelled(source: str) -> WordBuilder:
    spelling = WordBuilder()
    for single, double, bare in PIECES.findall(source):
        spelling.add(single or double or bare, quoted=not bare)
    return spelling
