"""Lines of standard input for an event loop, from whatever standard input is: a pipe, a file, a socket."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

LONGEST = 10_000_000
"""How many bytes a line may have. The rest of a longer one is passed over."""
PIECE = 1 << 16


class LineSplitter:
    """Puts pieces of bytes together into lines."""

    def __init__(self, on_line: Callable[[bytes | None], None]) -> None:
        """`on_line` gets each line that is not blank, and None for one that is too long."""
        self._on_line, self._rest, self._too_long = on_line, bytearray(), False

    def feed(self, piece: bytes) -> None:
        """More bytes."""
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self._add(line)
            self.end()
        self._add(rest)

    def end(self) -> None:
        """The line is complete."""
        line, too_long = bytes(self._rest), self._too_long
        self._rest, self._too_long = bytearray(), False
        if too_long:
            self._on_line(None)
        elif line.strip():
            self._on_line(line)

    def _add(self, piece: bytes) -> None:
        self._too_long = self._too_long or len(self._rest) + len(piece) > LONGEST
        self._rest = bytearray() if self._too_long else self._rest + piece


def read_lines(on_line: Callable[[bytes | None], None], on_end: Callable[[], None]) -> None:
    """Inside an event loop: call `on_line` there for each line, and `on_end` once.

    A thread reads the descriptor itself: inside `sys.stdin` it would hold a lock that the interpreter needs to end.
    """
    import asyncio  # Every host that comes here has an event loop, so it is loaded.

    loop, splitter = asyncio.get_running_loop(), LineSplitter(on_line)

    def read() -> None:
        with suppress(RuntimeError):  # The loop has ended: no one listens.
            while piece := _read_piece():
                loop.call_soon_threadsafe(splitter.feed, piece)
            loop.call_soon_threadsafe(splitter.end)
            loop.call_soon_threadsafe(on_end)

    threading.Thread(target=read, name="standard input", daemon=True).start()


def _read_piece() -> bytes:
    try:
        return os.read(sys.stdin.fileno(), PIECE)
    except (OSError, ValueError):
        return b""
