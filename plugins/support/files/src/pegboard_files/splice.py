"""Put new text into a file's text: what is not replaced keeps every byte, and new lines end like their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pegboard_files.encodings import Places, newline_of

Replaced: TypeAlias = tuple[int, int, str]
"""Where a piece begins and ends in the view of a text, and what takes its place."""


def spliced(text: str, view: str, newline: str, pieces: Sequence[Replaced]) -> str:
    """The text with pieces of its view replaced, in order; what old and new share at both ends is not touched."""
    places, made, at = Places(text, newline), list[str](), 0
    dominant, mixed = newline_of(text)
    for start, end, new in pieces:
        old, plain = view[start:end], new.replace("\r\n", "\n") if "\n" in view or "\r" in text else new
        head = _common(old, plain)
        tail = _common(old[head:][::-1], plain[head:][::-1])
        first, last = places.original(start + head), places.original(end - tail)
        ending = dominant if not mixed else _newline_near(text, first, last, dominant)
        middle = plain[head : len(plain) - tail]
        made += [text[at:first], middle if ending == "\n" else middle.replace("\n", ending)]
        at = last
    return "".join([*made, text[at:]])


def _newline_near(text: str, first: int, last: int, dominant: str) -> str:
    """In a file with mixed line endings, new lines end like those they replace, or like the line they are put into."""
    replaced = text[first:last]
    if "\n" in replaced:
        newline, mixed = newline_of(replaced)
        return dominant if mixed else newline
    end = text.find("\n", last)
    if end < 0:
        return dominant
    return "\r\n" if text[end - 1 : end] == "\r" else "\n"


def _common(a: str, b: str) -> int:
    if a == b:
        return len(a)
    return next((number for number, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
