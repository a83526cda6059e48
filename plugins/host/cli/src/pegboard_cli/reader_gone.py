"""Notice that no one reads standard output any more, even while nothing is written to it."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import asyncio


class Reader:
    """Whoever reads standard output."""

    def __init__(self) -> None:
        self.is_gone = False
        self.missed: Callable[[], object] = lambda: None
        """Called when a write failed because no one reads."""

    @contextmanager
    def watched(self, on_gone: Callable[[], None]) -> Iterator[None]:
        """Inside an event loop: call `on_gone` once, as soon as no one reads any more."""
        import asyncio  # Every host that comes here has an event loop, so it is loaded.

        loop = asyncio.get_running_loop()

        def leave() -> None:
            if not self.is_gone:
                self.is_gone = True
                _discard(sys.stdout)
                on_gone()

        self.missed = lambda: loop.call_soon_threadsafe(leave)
        with _watching_pipe(loop, leave):
            yield
        self.missed = lambda: None


@contextmanager
def _watching_pipe(loop: asyncio.AbstractEventLoop, leave: Callable[[], None]) -> Iterator[None]:
    """Notice a closed pipe at once. Other kinds of output tell when something is written to them."""
    descriptor = _pipe()
    if descriptor is None:
        yield
        return

    def look() -> None:
        # The write end of a pipe is never readable: a poll for nothing reports only that its reader is gone.
        poll = select.poll()
        poll.register(descriptor, 0)
        if poll.poll(0):
            loop.remove_reader(descriptor)
            leave()

    try:
        with suppress(OSError, NotImplementedError):
            loop.add_reader(descriptor, look)
        yield
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _discard(stream: TextIO) -> None:
    """What is still buffered cannot be written. The interpreter would try again at exit, and exit with 120."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _pipe() -> int | None:
    """A descriptor of our own for standard output, if that is a pipe."""
    with suppress(OSError, ValueError):
        number = sys.stdout.fileno()
        if stat.S_ISFIFO(os.fstat(number).st_mode):
            return os.dup(number)
    return None
