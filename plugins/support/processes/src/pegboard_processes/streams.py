"""The output of a process on its way from a pipe to a file and to whoever listens."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio

from pegboard_processes.interface import OnBytes

CHUNK = 65_536
"""What a pipe holds at first."""
WIDE = 262_144
TALKATIVE, SHORT, PAUSE = 8, 4096, 0.001
"""After so many chunks, a short one is followed by a pause in seconds: waking up for each costs more than reading."""

log = logging.getLogger("pegboard")


class Sink:
    """Where all output of one process ends: counted, capped, and kept in a file that only we may read."""

    def __init__(self, path: Path | None, limit: int) -> None:
        self.path, self._limit = path, limit
        self.size, self.full, self.error = 0, False, ""
        self._file = -1
        if path:
            try:
                # O_EXCL, O_NOFOLLOW: in a shared temporary folder someone else may have put a file or link there.
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                self.path, self.error = None, error.strerror or str(error)

    def take(self, chunk: bytes, *, keep: bool) -> bytes:
        """Count a chunk, keep it, and hand back the part of it that is within the limit."""
        room = self._limit - self.size
        if len(chunk) > room:
            chunk, self.full = chunk[:room], True
        self.size += len(chunk)
        if keep and self._file >= 0:
            self._write(chunk)
        return chunk

    def _write(self, chunk: bytes) -> None:
        """A failing disk must not stop the process: what cannot be kept is dropped, and the exit says so."""
        if self.error:
            return
        try:
            while chunk:
                chunk = chunk[os.write(self._file, chunk) :]
        except OSError as error:
            self.error = error.strerror or str(error)

    def discard(self) -> None:
        """There will be no output at all."""
        self.close()
        if self.path:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """No more output."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Pipe:
    """One pipe from a process. Pass `inlet` to the process, then `seal()`, then `pump()`.

    The pipe is ours and not the event loop's: asyncio's own pipes keep `wait()` from returning while a grandchild
    still holds them.
    """

    def __init__(self, sink: Sink, listener: OnBytes | None, *, keep: bool) -> None:
        self._outlet, self.inlet = self._open()
        self._sink, self._listener, self._keep = sink, listener, keep
        self.on_full: Callable[[], None] = lambda: None
        # A wake-up does not promise that there is something to read, and the read must never block the event loop.
        os.set_blocking(self._outlet, False)
        self._scope = anyio.CancelScope(shield=True)
        self.ended = anyio.Event()
        self._at_once = CHUNK
        self.moved = 0
        """Grows with each chunk, so that a quiet pipe can be told from a busy one."""

    def _open(self) -> tuple[int, int]:
        """Our end, and that of the process."""
        return os.pipe()

    def seal(self) -> None:
        """The process has its own copy of the inlet; ours would keep the pipe from ending."""
        if self.inlet >= 0:
            os.close(self.inlet)
            self.inlet = -1

    async def pump(self) -> None:
        """Read until everyone has closed the other end, or `stop()`.

        Cancelling does not end it: a tree that is being asked to end must still be able to write.
        """
        with self._scope:
            while not self._sink.full and await self._move():
                pass
        self.ended.set()

    async def _move(self) -> bool:
        await anyio.wait_readable(self._outlet)
        try:
            chunk = self.read(self._at_once)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        self._widen(len(chunk))
        chunk = self._sink.take(chunk, keep=self._keep)
        self._tell(chunk)
        if self._sink.full:
            self.on_full()
        # Many tiny writes: let some gather, or waking up for each costs more than the process itself.
        elif self.moved > TALKATIVE and len(chunk) < SHORT:
            await anyio.sleep(PAUSE)
        return True

    def read(self, most: int) -> bytes:
        """The next bytes; empty at the end. Raises `BlockingIOError` where there are none yet."""
        return os.read(self._outlet, most)

    def _widen(self, got: int) -> None:
        """A pipe that came in full belongs to a process in a hurry; a wider one saves both sides turns."""
        self.moved += 1
        if got == self._at_once == CHUNK:
            with suppress(OSError):  # the user has used up the memory for pipes
                self._at_once = fcntl.fcntl(self._outlet, fcntl.F_SETPIPE_SZ, WIDE)

    def _tell(self, chunk: bytes) -> None:
        if self._listener and chunk:
            try:
                self._listener(chunk)
            except Exception:
                log.exception("a listener for the output of a process failed and was removed")
                # Removed, not tried again: it would fail and be logged for every chunk.
                self._listener = None

    def stop(self) -> None:
        """Read no further."""
        self._scope.cancel()

    def close(self) -> None:
        """Give the descriptors back; only after `pump()` has ended."""
        self.seal()
        if self._outlet >= 0:
            os.close(self._outlet)
            self._outlet = -1
