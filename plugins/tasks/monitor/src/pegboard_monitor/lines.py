"""From the bytes of a command to lines that a model may read. They are text of others: cleaned, cut, and marked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pegboard_files import TERMINAL_ESCAPE

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LINE = 65_536
"""Bytes of a line that are looked at; the rest of it is passed over."""
SHOWN = 500
"""Characters of a line that the model reads."""
MARK = "untrusted-command-output"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
FORGED = re.compile(r"<(?=\s*/?\s*(?:untrusted-command-output|system-reminder)\b)", re.IGNORECASE)


class LineCutter:
    """Cuts a stream of bytes into lines. However long a line is, little of it is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_cut = False

    def cut(self, data: bytes) -> Iterator[bytes]:
        """The lines that end in these bytes."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._keep(data[start : min(end, start + LONGEST_LINE)])
            yield self._take()
            start = end + 1
        self._keep(data[start : start + LONGEST_LINE])

    def rest(self) -> Iterator[bytes]:
        """The last line, if it had no end."""
        if self._rest:
            yield self._take()

    def _keep(self, piece: bytes) -> None:
        self._rest += piece[: LONGEST_LINE - len(self._rest)]

    def _take(self) -> bytes:
        line, self._rest = self._rest, b""
        return line.removesuffix(b"\r")


@dataclass(slots=True)
class Gathered:
    """The lines that wait to be told: the first ones, and how many more there were."""

    room: int
    lines: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, line: bytes) -> None:
        """One more event."""
        if len(self.lines) < self.room:
            self.lines.append(shown(line))
        else:
            self.more += 1

    def __bool__(self) -> bool:
        return bool(self.lines or self.more)


@dataclass(slots=True)
class Watch:
    """Which lines are events, and when there were enough."""

    pattern: Any
    until: Any
    most: int | None
    gathered: Gathered
    events: int = 0
    ended_by: str = ""
    cutter: LineCutter = field(default_factory=LineCutter)

    def take(self, data: bytes, *, is_last: bool = False) -> None:
        """Look at more output; a pure function of bytes, so it may run in a thread."""
        for line in self.cutter.rest() if is_last else self.cutter.cut(data):
            if self.ended_by:
                return
            is_end = self.until is not None and self.until.search(line)
            if is_end or self.pattern is None or self.pattern.search(line):
                self.events += 1
                self.gathered.add(line)
            if is_end:
                self.ended_by = "the line that it waited for"
            elif self.most and self.events >= self.most:
                self.ended_by = f"the limit of {self.most} events"


def compiled(pattern: str) -> Any:
    """A pattern in the syntax of RE2, which never takes long; a `ValueError` where it cannot be read."""
    import re2  # type: ignore[import-untyped] # Few calls have a pattern, and it takes 20 ms to import.

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        raise ValueError(said.decode(errors="replace") if isinstance(said, bytes) else str(said)) from None


def shown(line: bytes) -> str:
    """A line as the model reads it."""
    text = TERMINAL_ESCAPE.sub("", line[: 8 * SHOWN].decode("utf-8", "backslashreplace"))
    text = FORGED.sub("&lt;", CONTROL.sub("", text.rpartition("\r")[2]))
    return text if len(text) <= SHOWN and len(line) <= 8 * SHOWN else text[: SHOWN - 1] + "…"
