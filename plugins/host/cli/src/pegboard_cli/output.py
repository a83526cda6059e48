"""Plain lines in a pipe, a little colour on a terminal, JSON for programs."""

from __future__ import annotations

import os
import sys

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TextIO

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def colourful() -> bool:
    """Whether to use colour: on a terminal, unless NO_COLOR says otherwise."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str) -> str:
    """The text in a style, where there is colour."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if colourful() else text


def print_json(value: Any) -> None:
    """One JSON document, readable and stable."""
    sys.stdout.write(indented(value) + "\n")


NAMES = {True: "true", False: "false", None: "null"}


def indented(value: Any, margin: str = "\n") -> str:
    """What `json.dumps(value, indent=1, ensure_ascii=False)` makes.

    Importing `json` takes 11 ms, where bare Python starts in 15, and its encoder that indents is slow.
    """
    kind = type(value)
    if kind is str and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    if kind is bool or value is None:
        return NAMES[value]
    if kind is int:
        return str(value)
    inner = f"{margin} "
    if kind is dict and {*map(type, value)} <= {str} and all(map(str.isidentifier, value)):
        items = [f'{inner}"{key}": {indented(item, inner)}' for key, item in value.items()]
        return f"{{{','.join(items)}{margin}}}" if value else "{}"
    if kind is list:
        return f"[{','.join([inner + indented(item, inner) for item in value])}{margin}]" if value else "[]"
    import json

    return json.dumps(value, indent=1, ensure_ascii=False).replace("\n", margin)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns; the last may be as long as it likes."""
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [max([len(head[i]), *(len(row[i]) for row in cells)]) for i in range(len(head))]
    widths[-1] = 0
    lines = [styled("  ".join(word.ljust(width) for word, width in zip(head, widths, strict=True)).rstrip(), "bold")]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    sys.stdout.write("\n".join(lines) + "\n")


def visible(text: str) -> str:
    """One line without control characters, so that foreign text cannot control the terminal."""
    return "".join(c if c.isprintable() else "\ufffd" if c not in "\n\t\r" else " " for c in text)


def complain(text: str) -> None:
    """A sentence on standard error; others may have had a hand in its words."""
    if sys.stderr:
        sys.stderr.write(f"pegboard: {printable(text, sys.stderr)}\n")


def printable(text: str, stream: TextIO | None = None) -> str:
    """Text for a stream: as it is in a pipe, with control characters made visible on a terminal."""
    if not (stream or sys.stdout).isatty():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
