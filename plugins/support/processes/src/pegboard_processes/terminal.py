"""A pseudo-terminal for a process that wants to talk to a person."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import termios
from dataclasses import replace

import anyio

from pegboard_processes.interface import ProcessSpec
from pegboard_processes.streams import Pipe

ROWS, COLUMNS = 40, 120
LINE = 4_095
"""The longest line, in bytes, that the kernel keeps for a process that reads whole lines; it drops the rest."""
VARIABLES = {"TERM": "xterm", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
OWN = """\
if (: 0<>/proc/self/fd/0) 2>/dev/null; then exec 0<>/proc/self/fd/0 1>&0 2>&0; fi
if ! (: 0<>/dev/tty) 2>/dev/null && command -v setsid >/dev/null; then exec setsid -cw "$@"; fi
exec "$@"
"""
"""The leader of a session gets the first terminal that it opens as its own: then Ctrl-C and /dev/tty work.

In a shell and not between fork and exec: running Python there is not safe in a host with threads. It opens what it has
already, by another way, because a sandbox has no such name. In a sandbox it may not be the leader, or not open it at
all; then it becomes the leader of another session, and without `setsid` it does without.
"""


def on_terminal(spec: ProcessSpec) -> ProcessSpec:
    """The same process as it is started on a terminal. Before a sandbox is put around it, which begins a session."""
    return replace(spec, argv=("/bin/sh", "-c", OWN, "sh", *spec.argv), env={**spec.env, **VARIABLES})


class Terminal(Pipe):
    """Our end of a terminal: what the process writes comes out, what is typed goes in."""

    def _open(self) -> tuple[int, int]:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        return ours, theirs

    def read(self, most: int) -> bytes:
        """The next bytes; empty when no process has the terminal open any more."""
        try:
            return super().read(most)
        except OSError as error:
            if error.errno == errno.EIO:
                return b""
            raise

    async def type(self, data: bytes) -> int:
        """Type, waiting while the process does not read; says how many bytes were taken, less than all at its end."""
        taken = 0
        try:
            while taken < len(data) and self._outlet >= 0:
                try:
                    taken += os.write(self._outlet, data[taken : taken + 1024])
                except BlockingIOError:
                    await anyio.wait_writable(self._outlet)
        except (anyio.ClosedResourceError, OSError):
            pass
        return taken

    def close(self) -> None:
        """Give the descriptors back, also to someone who waits to type."""
        if self._outlet >= 0:
            anyio.notify_closing(self._outlet)
        super().close()
