"""Parse an engine's output as it streams in. Memory is bounded; what does not fit is counted, not kept."""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Callable
from typing import NamedTuple

MOST_BYTES = 20_000_000
"""How many bytes of lines are kept. Beyond that, the files that sort last are dropped, so that pages are stable."""
MOST_BYTES_OF_FILE = 4_000_000
MOST_PENDING = 4_000_000
"""A line longer than this is cut before all of it has arrived."""
LINE_BYTES = 600
BEFORE_MATCH = 150

RECORD = re.compile(
    rb"--\r?\n"
    rb"|(?P<binary>[^\0\n]*): (?:binary file matches|WARNING: stopped searching binary file after match)[^\n]*\n"
    rb"|(?P<path>[^\0]+)\0(?P<line>\d+)(?:-(?P<around>[^\n]*)|:(?P<column>\d+):(?P<text>[^\n]*))\n"
)
HEAD = re.compile(rb"(?P<path>[^\0]+)\0(?P<line>\d+)(?:-|:(?P<column>\d+):)")
COUNT = re.compile(rb"(?P<path>[^\0]+)\0(?P<count>\d+)\r?\n")

Accept = Callable[[bytes], bool] | None
"""Whether results in a file, named as the engine names it, may be shown; called once per file. None: all may."""


class Row(NamedTuple):
    """A matching line or a context line: its number, whether it matches, and the part of its text that is shown."""

    line: int
    matches: bool
    text: bytes


class Records:
    """What has been found so far. `feed()` takes the engine's output as it arrives."""

    def __init__(self, accept: Accept) -> None:
        self._accept = accept
        self._verdicts: dict[bytes, bool] = {}
        self._pending = b""
        self.files: dict[bytes, int] = {}
        """Every file with results and how many matching lines it has; 0 when only the file is known."""
        self.binary = 0

    def feed(self, data: bytes) -> None:
        """Parse a chunk of output."""
        raise NotImplementedError

    def accepted(self, path: bytes) -> bool:
        """Whether a file may be shown; each file is checked once."""
        if self._accept is None:
            return True
        verdict = self._verdicts.get(path)
        if verdict is None:
            verdict = self._verdicts[path] = self._accept(path)
        return verdict


class FileRecords(Records):
    """File names, each terminated by a NUL; `look` is called with those of each chunk as it arrives."""

    look: Callable[[list[bytes]], None] = staticmethod(lambda paths: None)

    def feed(self, data: bytes) -> None:
        """Parse a chunk of output."""
        *paths, self._pending = (self._pending + data).split(b"\0")
        if self._accept is not None:
            paths = [path for path in paths if self.accepted(path)]
        self.files |= dict.fromkeys(paths, 0)
        self.look(paths)


class CountRecords(Records):
    """File names with the number of matching lines in each."""

    def feed(self, data: bytes) -> None:
        """Parse a chunk of output."""
        data, at = self._pending + data, 0
        while found := COUNT.match(data, at):
            at = found.end()
            if self.accepted(found["path"]):
                self.files[found["path"]] = int(found["count"])
        self._pending = data[at:]


class LineRecords(Records):
    """Lines, each with its file and number."""

    def __init__(self, accept: Accept, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(accept)
        self.rows: dict[bytes, list[Row]] = {}
        self.total_rows = 0
        self.dropped = False
        """Whether there were more lines than could be kept."""
        self._most, self._size = most_bytes, 0
        self._sizes: dict[bytes, int] = {}
        self._order: list[bytes] = []
        self._ceiling: bytes | None = None
        self._skipping = False

    def feed(self, data: bytes) -> None:
        """Parse a chunk of output."""
        if self._skipping:
            _, ended, data = data.partition(b"\n")
            self._skipping = not ended
            if self._skipping:
                return
        if b"\n" not in data and len(self._pending) + len(data) < MOST_PENDING:
            self._pending += data
            return
        data, at = self._pending + data, 0
        while found := RECORD.match(data, at):
            at = found.end()
            self._take(found)
        self._pending = data[at:]
        if len(self._pending) >= MOST_PENDING:
            self._cut_short()

    def _take(self, found: re.Match[bytes]) -> None:
        path = found["path"]
        if path is None:
            self.binary += found["binary"] is not None
        elif self.accepted(path):
            column = found["column"]
            text = found["around"] if column is None else found["text"]
            self._keep(path, int(found["line"]), column, text)

    def _cut_short(self) -> None:
        """Keep the beginning of an over-long line and skip the rest of it."""
        head = HEAD.match(self._pending)
        if head is not None and self.accepted(head["path"]):
            self._keep(head["path"], int(head["line"]), head["column"], self._pending[head.end() :])
        self._pending, self._skipping = b"", True

    def _keep(self, path: bytes, line: int, column: bytes | None, text: bytes) -> None:
        self.total_rows += 1
        self.files[path] = self.files.get(path, 0) + (column is not None)
        if self._ceiling is not None and path >= self._ceiling:
            return
        row = Row(line, column is not None, cut(text, int(column or 1) - 1))
        size = self._sizes.get(path, 0) + len(row.text) + 100
        if size > MOST_BYTES_OF_FILE:
            self.dropped = True
            return
        if path not in self.rows:
            self.rows[path] = []
            insort(self._order, path)
        self._size += size - self._sizes.get(path, 0)
        self._sizes[path] = size
        self.rows[path].append(row)
        while self._size > self._most and len(self._order) > 1:
            self._drop_last()

    def _drop_last(self) -> None:
        self._ceiling = path = self._order.pop()
        self._size -= self._sizes.pop(path)
        del self.rows[path]
        self.dropped = True


def cut(text: bytes, at: int) -> bytes:
    """A line as it is shown: a long one is cut around the match, never inside a character."""
    text = text.removesuffix(b"\r")
    if len(text) <= LINE_BYTES:
        return text
    start = max(0, min(at - BEFORE_MATCH, len(text) - LINE_BYTES))
    end = start + LINE_BYTES
    while start and start < len(text) and 0x80 <= text[start] < 0xC0:
        start += 1
    while end < len(text) and end > start and 0x80 <= text[end] < 0xC0:
        end -= 1
    left = "… ".encode() if start else b""
    right = f" … ({len(text)} bytes)".encode() if end < len(text) else b""
    return left + text[start:end] + right
