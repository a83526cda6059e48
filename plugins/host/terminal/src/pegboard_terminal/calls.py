"""Calls on the screen: one line while a call runs, which becomes the line of its result."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.syntax import Syntax
from rich.text import Text

from pegboard import Board
from pegboard.hosting import validate
from pegboard.wording import counted
from pegboard_cli import without_remedy
from pegboard_terminal.pen import MOST_CHARACTERS, Pen

log = logging.getLogger("pegboard")

RESULT_LINES = 8
"""How many lines of a result are shown; Ctrl-O shows the rest, and the model has them all."""
MARKS = {"ok": ("●", "green"), "failed": ("✗", "red"), "denied": ("⊘", "yellow")}
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MOST_FOLDED = 20
CHUNK = 200
"""Lines of a folded result that are shown in one go, so that keys are not kept waiting."""


def spinner() -> str:
    """The picture of this moment."""
    return FRAMES[int(time.monotonic() * 10) % len(FRAMES)]


def describe(board: Board | None, name: str, given: Mapping[str, Any], otherwise: str) -> str:
    """A call in the words of its tool; as the model wrote it where it is wrong."""
    if board is None:
        return otherwise
    try:
        tool = board.find(name).tool
        args, _ = validate(tool.name, tool.input, dict(given))
        return tool.describe(args)
    except Exception:  # The call itself will say what is wrong with it.
        log.debug("%s could not be described", name, exc_info=True)
        return otherwise


@dataclass(slots=True)
class Running:
    """A call that runs."""

    label: str
    began: float = field(default_factory=time.monotonic)
    progress: str = ""
    tail: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Finished:
    """How a call ended, as an event says it."""

    label: str
    kind: str
    ms: float
    said: str


class Calls:
    """The calls of the model: those that run now, and results that were folded."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self.running: dict[str, Running] = {}
        self.drawn: dict[str, object] = {}
        """How tools draw results of calls that are not over yet."""
        self._folded: deque[tuple[str, object]] = deque(maxlen=MOST_FOLDED)

    def progress(self, id: str, message: str, tail: str) -> None:
        """A sign of life, and for a command the last lines of its output."""
        if call := self.running.get(id):
            call.progress, call.tail = ("", tail.splitlines()[-5:]) if tail else (message, [])

    def rows(self) -> Iterator[str]:
        """The calls that run, with what they say."""
        now = time.monotonic()
        for call in list(self.running.values()):
            progress = f"  {call.progress}" if call.progress else ""
            yield self._pen.row(
                (f"{spinner()} ", "cyan"), (call.label[:200], ""), (f"  {now - call.began:.1f} s{progress[:80]}", "dim")
            )
            yield from (self._pen.row((f"    {line}", "dim")) for line in call.tail)

    def finish(self, id: str, done: Finished) -> list[str]:
        """The lines of a result."""
        self.running.pop(id, None)
        mark, style = MARKS[done.kind]
        took = f"  {done.ms / 1000:.1f} s" if done.ms >= 1000 else f"  {done.ms:.0f} ms"
        lines = [self._pen.row((f"{mark} ", style), (done.label, ""), (took, "dim"))]
        drawn = self.drawn.pop(id, None)
        if drawn is not None and done.kind == "ok":
            return lines + self._fold(done.label, drawn)
        if first := next(iter(without_remedy(done.said.strip()).splitlines()), ""):
            lines.append(self._pen.row((f"    {first}", "dim" if done.kind == "ok" else style)))
        return lines

    def _fold(self, label: str, drawn: object) -> list[str]:
        try:
            lines, rest = self._pen.first_lines(drawn, RESULT_LINES)
        except Exception:  # A picture that cannot be drawn must not end the conversation.
            log.debug("the result of %s could not be drawn", label, exc_info=True)
            return []
        return lines + self.keep_folded(label, drawn, rest) if rest else lines

    def keep_folded(self, label: str, drawn: object, rest: int) -> list[str]:
        """Keep what is not shown in full; the line says how to see it."""
        self._folded.append((label, drawn))
        return [self._pen.row((f"    … {counted(rest, 'more line')} (Ctrl-O shows all)", "dim"))]

    def unfold(self) -> Iterator[list[str]]:
        """The last folded result in full, in portions; the next time the one before it."""
        if not self._folded:
            return
        label, drawn = self._folded.pop()
        yield [self._pen.row((f"{label}:", "bold"))]
        if isinstance(drawn, Syntax) and len(drawn.code) <= MOST_CHARACTERS:
            yield self._pen.lines(drawn)
            return
        plain = drawn.code if isinstance(drawn, Syntax) else drawn.plain if isinstance(drawn, Text) else drawn
        if not isinstance(plain, str):
            yield self._pen.lines(plain)  # type: ignore[arg-type]
            return
        rows = plain.split("\n")
        for start in range(0, len(rows), CHUNK):
            yield self._pen.text("\n".join(rows[start : start + CHUNK]))
