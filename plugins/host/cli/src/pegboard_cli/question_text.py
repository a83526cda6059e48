"""Show a call in full to the person who approves it, with nothing hidden."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TextIO

from pegboard import Question
from pegboard_cli.output import STYLES
from pegboard_cli.typed import Lines

UNSEEN = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Characters that count as letters or signs and show nothing."""

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def revealed(text: str) -> str:
    """One line in which every character shows: `<U+202E>` for what would hide, move or turn others."""
    return text if text.isascii() and text.isprintable() else "".join(map(_reveal, text))


def _reveal(character: str) -> str:
    if character == "\t":
        return "<TAB>"
    kind = unicodedata.category(character)
    odd_space = kind == "Zs" and character != " "
    selector = 0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF
    if kind in HIDDEN or odd_space or selector or character in UNSEEN:
        return f"<U+{ord(character):04X}>"
    return character


def lines_of(question: Question, *, colour: bool) -> Iterator[str]:
    """The question, line by line. Text from others is shown after a bar, so that it cannot pose as a choice."""
    who = f"{revealed(question.agent)}: " if question.agent else ""
    yield styled(f"{who}{revealed(question.call.name)} asks to run:", "bold", colour)
    described = question.description.removeprefix(f"{question.agent}: ").replace("\n", " ")
    yield f"  {revealed(described)}"
    for key, value in question.input.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        first, *rest = text.split("\n")
        if not rest:
            yield f"  | {revealed(key)}: {revealed(first)}"
            continue
        yield f"  | {revealed(key)}: ({len(rest) + 1} lines, {len(text)} characters)"
        yield from (f"  |   {revealed(line)}" for line in (first, *rest))
    if question.preview:
        yield styled("what it changes:", "bold", colour)
        yield from (f"  | {_coloured(revealed(line), colour)}" for line in question.preview.split("\n"))
    yield f"why: {revealed(question.decision.reason)}"


def _coloured(line: str, colour: bool) -> str:
    style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1])
    return styled(line, style, colour) if style else line


def styled(text: str, style: str, colour: bool) -> str:
    """The text in a style, where there is colour."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if colour else text


def page(lines: Iterable[str], out: TextIO, answers: Lines) -> bool:
    """Show all lines, a screen at a time. False when the person did not want to see the rest."""
    height, width = _screen()
    left = height
    for line in lines:
        left -= 1 + len(line) // max(width, 1)
        if left < 2:
            out.write("  -- Enter for more, q to stop reading --")
            out.flush()
            if answers.readline().strip().lower().startswith("q"):
                out.write("  (the rest was not shown)\n")
                return False
            left = height
        out.write(f"{line}\n")
    return True


def _screen() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        return 24, 80
    return max(size.lines or 24, 4) - 1, size.columns or 80
