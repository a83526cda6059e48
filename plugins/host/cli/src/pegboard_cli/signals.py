"""The one place that handles Ctrl-C, SIGTERM and SIGHUP, for every command and until the process ends.

The first signal stops the command, and what it started is cleaned up. Further ones change nothing: a clean-up that is
cut in half leaves processes and files behind. Only when the clean-up hangs does another signal end the process at once;
the next command then removes what is left. The exit code is 128 and the number of the signal, as in a shell.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterator
    from types import FrameType
    from typing import Any, TypeVar

    import anyio

    T = TypeVar("T")

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 10.0
"""Seconds that a clean-up may take before another signal ends it."""
EXITS = 128


class Stopped(KeyboardInterrupt):
    """A signal stopped the command. Comes out of whatever runs when there is no event loop to tell."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = EXITS + number


class _Signals:
    """Which signals this process has received, and what it does about them."""

    def __init__(self) -> None:
        self.stopping, self._since = 0, 0.0
        self._loop: tuple[asyncio.AbstractEventLoop, anyio.CancelScope] | None = None
        self.interrupt: Callable[[], bool] = lambda: False
        self.closing = False
        self._terminals: list[int] = []

    def install(self) -> None:
        """Handle what is not ignored: `nohup` and shells in the background ask for that."""
        self._terminals = [number for number in (1, 2) if os.isatty(number)]
        for number in HANDLED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._hear)
        # Registered first, so called last: from then on Python would restore what signals do by default.
        atexit.register(_ignore)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        """Called by Python between any two instructions of the main thread."""
        if number == signal.SIGHUP:
            self._leave_terminal()
        if self._since and time.monotonic() - self._since > PATIENCE:
            os._exit(EXITS + number)
        self._since = self._since or time.monotonic()
        if self._loop:
            self._loop[0].call_soon_threadsafe(self._decide, number)
        elif not self.stopping:
            self.stopping = number
            if not self.closing:
                raise Stopped(number)

    def _decide(self, number: int) -> None:
        """Called by the event loop."""
        if self.stopping:
            return
        if number == signal.SIGINT and self.interrupt():
            self._since = 0.0
            return
        self.stop(number)

    def stop(self, number: int) -> None:
        """Cancel what the event loop runs."""
        self.stopping = number
        if self._loop:
            self._loop[1].cancel()

    @contextmanager
    def cancelling(self, scope: anyio.CancelScope) -> Iterator[None]:
        """Inside an event loop: the first signal cancels the scope."""
        import asyncio

        loop = asyncio.get_running_loop()
        self._loop = (loop, scope)
        try:
            with _waking(loop):
                yield
        finally:
            self._loop = None
            if self.stopping:  # Also when the work ended well in the same moment.
                scope.cancel()

    def _leave_terminal(self) -> None:
        """The terminal is gone: writing to it would fail in the middle of the clean-up."""
        with suppress(OSError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            for number in self._terminals:
                os.dup2(nothing, number)
            os.close(nothing)


@contextmanager
def _waking(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Wake the loop for each signal.

    Python runs handlers between two instructions. A signal that comes after the last instruction before the loop goes
    to sleep would wait until something else wakes it, which at a question may be never.
    """
    import socket

    outlet, inlet = socket.socketpair()
    outlet.setblocking(False)
    inlet.setblocking(False)

    def drain() -> None:
        with suppress(BlockingIOError):
            outlet.recv(4096)

    with outlet, inlet:
        loop.add_reader(outlet, drain)
        before = signal.set_wakeup_fd(inlet.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(outlet)


def _ignore() -> None:
    for number in HANDLED:
        signal.signal(number, signal.SIG_IGN)


_signals = _Signals()


def install() -> None:
    """Handle signals from here on; only in the main thread of a process of our own."""
    _signals.install()


def close() -> None:
    """The command is over: what comes now must not break what runs at the end of the process."""
    _signals.closing = True


def run_stoppable(work: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run `work(*args)` in an event loop; a signal cancels it, and `Stopped` is raised when it has cleaned up."""
    import anyio

    async def stoppable() -> T:
        with anyio.CancelScope() as scope, _signals.cancelling(scope):
            done = await work(*args)
        if _signals.stopping:
            raise Stopped(_signals.stopping)
        return done

    return anyio.run(stoppable)


def stop(number: int) -> None:
    """Inside `run_stoppable`: stop everything, as if this signal had come."""
    _signals.stop(number)


@contextmanager
def interrupting(interrupt: Callable[[], bool]) -> Iterator[None]:
    """Inside `run_stoppable`: on Ctrl-C ask `interrupt` first. It answers True when something less than all stops."""
    before, _signals.interrupt = _signals.interrupt, interrupt
    try:
        yield
    finally:
        _signals.interrupt = before


def say(words: str) -> None:
    """A line on standard error, which may be gone."""
    with suppress(OSError, ValueError):
        sys.stderr.write(words)
        sys.stderr.flush()
