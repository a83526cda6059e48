"""The output of a command as a model should read it: without colours and progress bars, and never too long.

Whatever the size of the file, only its two ends are read; the file itself stays as the command wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pegboard_files import plain_text
from pegboard_processes.background import whole_characters

ON_SUCCESS, ON_FAILURE, PREVIEW = 30_000, 10_000, 4_000
"""Characters that are shown of a command that succeeded, of one that failed, and of one that wrote too much."""
WHOLE = 1_000_000
"""Files up to this many bytes are read whole; of larger ones the ends."""
END = 128_000


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of the output."""

    text: str
    size: int = 0
    """How many bytes the command wrote."""
    same: bool = True
    """Whether the text is all of the output, and nothing in it was cleaned."""
    cut: bool = False


def shown(path: Path | None, limit: int, room: int | None = None) -> Shown:
    """The output in up to `limit` characters, or else its head and tail in `room` with a remark on what is left out."""
    if path is None:
        return Shown("")
    room = limit if room is None else room
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        if size <= WHOLE:
            data = file.read()
            raw = _decoded(data)
            text = plain_text(raw).rstrip("\n")
            if len(text) <= limit:
                return Shown(text, size, same=text == raw.rstrip("\n"))
            half = room // 2
            head, tail = _to_line_end(text[:half]), _from_line_start(text[-half:])
        else:
            head, tail = _ends(file.read(END), _last(file, size), room // 2)
    left_out = max(size - len(head.encode()) - len(tail.encode()), 0)
    remark = f"[... about {left_out:,} of {size:,} bytes omitted ...]"
    return Shown(f"{head}\n{remark}\n{tail}", size, same=False, cut=True)


def _last(file: BinaryIO, size: int) -> bytes:
    file.seek(size - END)
    return file.read(END)


def _ends(front: bytes, back: bytes, half: int) -> tuple[str, str]:
    start = 0
    while start < 3 and back[start] & 0b1100_0000 == 0b1000_0000:  # the rest of a character that began before
        start += 1
    head = plain_text(_decoded(front[: whole_characters(front)]))
    tail = plain_text(_decoded(back[start:])).rstrip("\n")
    return _to_line_end(head[:half]), _from_line_start(tail[-half:])


def _decoded(data: bytes) -> str:
    """Bytes that are no UTF-8 become visible: a backslash, an x and two digits."""
    return data.decode("utf-8", "backslashreplace")


def _to_line_end(text: str) -> str:
    """A cut in the last quarter is moved back to the end of a line, if there is one."""
    end = text.rfind("\n", len(text) * 3 // 4)
    return text[:end] if end >= 0 else text


def _from_line_start(text: str) -> str:
    start = text.find("\n", 0, len(text) // 4)
    return text[start + 1 :] if start >= 0 else text


class OutputTail:
    """The last lines of a running command for a screen, at most a few times a second."""

    LINES, BYTES, SECONDS = 5, 4_000, 0.1

    def __init__(self) -> None:
        self._data, self._due = b"", 0.0
        self.size = 0

    def take(self, data: bytes, now: float) -> str | None:
        """The tail with these bytes, or None when it was shown only a moment ago."""
        self.size += len(data)
        self._data = (self._data + data[-self.BYTES :])[-self.BYTES :]
        if now < self._due:
            return None
        self._due = now + self.SECONDS
        return "\n".join(plain_text(_decoded(self._data)).splitlines()[-self.LINES :])
