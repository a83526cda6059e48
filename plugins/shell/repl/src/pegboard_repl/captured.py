"""The output of one run: as much as is shown, and how much there was."""

from __future__ import annotations

import anyio

HEAD, TAIL = 20_000, 10_000
"""How many bytes are kept of the beginning and of the end; between them any amount may be lost."""


class Captured:
    """Takes the output of an interpreter as it comes, and knows where that of a run ends."""

    def __init__(self) -> None:
        self._mark = b""
        self._held = b""
        """What may be the beginning of the mark."""
        self._clear()

    def _clear(self) -> None:
        self._head, self._tail, self.size = bytearray(), bytearray(), 0
        self.ended = anyio.Event()

    def begin(self, token: str) -> None:
        """A run begins; its output ends where the mark with this token is. No one can print it who does not know it."""
        self._mark = b"\0" + token.encode() + b"\0"
        self.ended = anyio.Event()

    def __call__(self, chunk: bytes) -> None:
        """Take the next bytes."""
        data = self._held + chunk
        at = data.find(self._mark) if self._mark else -1
        if at >= 0:
            self._keep(data[:at])
            self._held, self._mark = data[at + len(self._mark) :], b""
            self.ended.set()
            return
        back = max(len(data) - len(self._mark) + 1, 0) if self._mark else len(data)
        self._keep(data[:back])
        self._held = data[back:]

    def _keep(self, data: bytes) -> None:
        self.size += len(data)
        room = HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-TAIL:]
        del self._tail[:-TAIL]

    def take(self) -> tuple[str, int]:
        """The output so far with a remark on what is left out, and its size in bytes. The next begins empty."""
        if not self._mark:
            pass
        elif self._held:  # The run did not get to its end, so this is output like any other.
            self._keep(self._held)
            self._held, self._mark = b"", b""
        head, tail, size = bytes(self._head), bytes(self._tail), self.size
        self._clear()
        lost = size - len(head) - len(tail)
        if not lost:
            return (head + tail).decode("utf-8", "backslashreplace"), size
        remark = f"\n[... {lost:,} of {size:,} bytes omitted ...]\n"
        return head.decode("utf-8", "replace") + remark + tail.decode("utf-8", "replace"), size
