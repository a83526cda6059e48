"""Symbols by name: in what servers list, and in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

DEEPEST = 50


def all_symbols(answer: Any, outer: tuple[str, ...] = ()) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """Each symbol of a file with its name and the names around it, outermost first."""
    for one in answer if isinstance(answer, list) else ():
        if not isinstance(one, dict):
            continue
        around = (*outer, *filter(None, [str(one.get("containerName") or "")]))
        names = (*around, str(one.get("name", "")))
        yield one, names
        if len(names) < DEEPEST:
            yield from all_symbols(one.get("children"), names)


def matches(wanted: str, names: Sequence[str]) -> bool:
    """Whether a name such as `greet` or `Greeter.greet` means the last of these names."""
    parts = re.split(r"\.|::", wanted)
    *around, last = [_bare(name) for name in names]
    return _bare(parts[-1]) == last and (len(parts) == 1 or _bare(parts[-2]) in re.split(r"\.|::", ".".join(around)))


def _bare(name: str) -> str:
    """A name without the parameters that some servers add to it."""
    return name.partition("(")[0].strip()


def start_of(symbol: dict[str, Any]) -> tuple[int, int]:
    """The line and the column of the protocol where a symbol's name begins."""
    location = symbol.get("location")
    given = symbol.get("selectionRange") or (
        location.get("range") if isinstance(location, dict) else symbol.get("range")
    )
    return position_of(given)


def position_of(given: Any) -> tuple[int, int]:
    """The start of a range; the start of the file for what is none."""
    start = given.get("start") if isinstance(given, dict) else None
    line, column = (start.get("line"), start.get("character")) if isinstance(start, dict) else (0, 0)
    if isinstance(line, int) and isinstance(column, int) and line >= 0 and column >= 0:
        return line, column
    return 0, 0


def last_part(symbol: str) -> str:
    """The name itself, without what it is in."""
    return re.split(r"\.|::", symbol)[-1]


def in_text(symbol: str, text: str, start: int = 0) -> int | None:
    """The column where the last part of a symbol's name occurs as a word, from `start` on; outside quotes if it can."""
    last = last_part(symbol)
    found = [one.start() for one in re.finditer(rf"(?<!\w){re.escape(last)}(?!\w)", text) if last]
    found = [column for column in found if column >= start]
    return next((column for column in found if not is_quoted(text, column)), found[0] if found else None)


def is_quoted(text: str, column: int) -> bool:
    """Whether a column of a line seems to be in a string."""
    return any(text.count(quote, 0, column) % 2 for quote in "\"'`")
