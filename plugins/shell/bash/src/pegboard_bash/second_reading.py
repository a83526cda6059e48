"""The second reading of a text: our own, which shares nothing with the grammar of the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pegboard_bash import subset
from pegboard_bash.lexer import Doubt
from pegboard_bash.syntax import Parser, Simple

WITH_SHAPE = 3


@dataclass(frozen=True, slots=True)
class SecondReading:
    """What our own reading found in a text."""

    marks: frozenset[tuple[Any, ...]]
    """Words, commands, redirects and signs, each with its place."""
    commands: tuple[Simple, ...]
    doubt: str = ""
    """Why it is not reliable; the commands up to there were still found."""
    plain: bool = False
    """Whether the text is in the closed subset, where there is nothing that two shells read differently."""

    def texts(self) -> Iterator[str]:
        """The words with quotes or holes in them, after the removal of quotes."""
        for kind, *rest in self.marks:
            words = rest[0] if kind in ("command", "[[") else rest[-1:] if kind in ("redirect", "value") else ()
            for word in words if isinstance(words, tuple | list) else ():
                if isinstance(word, tuple) and len(word) == WITH_SHAPE:
                    yield word[2][0]


@lru_cache(maxsize=256)
def second_reading(text: str) -> SecondReading:
    """Read a text with our own tokenizer: the small one for the closed subset, else the whole one."""
    if (found := subset.read(text)) is not None:
        return SecondReading(frozenset(found.marks), tuple(found.commands), plain=True)
    parser, doubt = Parser(text), ""
    try:
        parser.script()
    except Doubt as error:
        doubt = str(error)
    except RecursionError:
        doubt = "it is nested too deeply"
    return SecondReading(frozenset(parser.marks), tuple(parser.commands), doubt)


def is_plain(text: str) -> bool:
    """Whether a text is in the closed subset."""
    return second_reading(text).plain


def needs_bash(text: str) -> bool:
    """Whether bash itself has to be asked as well: the text is outside the subset, and we found nothing to doubt."""
    second = second_reading(text)
    return not second.plain and not second.doubt
