"""Two columns of text."""

from __future__ import annotations

from collections.abc import Iterable

WIDEST = 26


def columns(rows: Iterable[tuple[str, str]]) -> str:
    """A name and what it is, one below the other; a long name has a line of its own."""
    listed = list(rows)
    width = min(max((len(name) for name, _ in listed), default=0), WIDEST)
    lines = [
        f"  {name.ljust(width)}  {words}" if len(name) <= width else f"  {name}\n  {' ' * width}  {words}"
        for name, words in listed
    ]
    return "\n".join(lines)
