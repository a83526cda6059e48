"""Blocking tools run in threads, and a thread cannot be stopped: what is left running is remembered here."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegboard.context import Context
from pegboard.contract import Tool

left_running: ContextVar[Callable[[threading.Event], None] | None] = ContextVar("left_running", default=None)
"""Whom to tell when a call is cancelled and its thread goes on; the event is set when the thread ends."""


@dataclass(frozen=True, slots=True)
class Stray:
    """The thread of a call that was stopped while it could still change something."""

    id: str
    name: str
    ended: threading.Event
    paths: tuple[Path, ...] = ()


class Strays:
    """The threads that a session left running. All turns of a session share one: a thread may outlive its turn."""

    def __init__(self) -> None:
        self._known: list[Stray] = []

    def __bool__(self) -> bool:
        return bool(self._known)

    def add(self, stray: Stray) -> None:
        """Remember a thread."""
        self._known.append(stray)

    async def outlast(self, seconds: float) -> list[Stray]:
        """Wait until all have ended, but not longer than this; those that have not are returned, and only this once."""
        from anyio import CapacityLimiter, to_thread

        limit = time.monotonic() + seconds
        for stray in list(self._known):
            rest = max(0.0, limit - time.monotonic())
            if not stray.ended.is_set():
                await to_thread.run_sync(stray.ended.wait, rest, abandon_on_cancel=True, limiter=CapacityLimiter(1))
        late = [stray for stray in self._known if not stray.ended.is_set()]
        self._known.clear()
        return late


class _Errand:
    """One blocking call on its way to a thread. It either never begins or is known to run."""

    def __init__(self, tool: Tool[Any, Any], args: Any, ctx: Context) -> None:
        self._tool, self._args, self._ctx = tool, args, ctx
        self._left: threading.Event | None = None
        self._over = False
        self._may_begin = threading.Lock()

    def run(self) -> Any:
        if not self._may_begin.acquire(blocking=False):
            return None
        try:
            return self._tool.call(self._args, self._ctx)
        except KeyboardInterrupt as error:  # Ctrl-C reaches the main thread only: this one is the tool's own.
            raise RuntimeError("KeyboardInterrupt in a worker thread") from error
        finally:
            self._over = True
            if self._left:
                self._left.set()

    def drop(self) -> threading.Event | None:
        """Give up on it. If it runs all the same, the event that is set when it ends."""
        if self._over or self._may_begin.acquire(blocking=False):
            return None  # It has ended, or it will never begin.
        self._left = ended = threading.Event()
        if self.is_over:  # It ended while the event was made; whoever came first, it is set now.
            ended.set()
        return ended

    @property
    def is_over(self) -> bool:
        """Whether the thread has left the tool."""
        return self._over


def in_thread(tool: Tool[Any, Any]) -> Callable[[Any, Context], Awaitable[Any]]:
    """How a blocking tool runs: in a thread that is abandoned when the call is cancelled."""

    async def execute(args: Any, ctx: Context) -> Any:
        # Imported here because listing tools builds runners, too, and must not pay for anyio.
        from anyio import CapacityLimiter, to_thread

        errand = _Errand(tool, args, ctx)
        try:
            # A limiter of its own: how many calls run is decided by the turn's slots, and a limiter shared
            # with the turns inside a call could make the inner ones wait for the outer one.
            value = await to_thread.run_sync(errand.run, abandon_on_cancel=True, limiter=CapacityLimiter(1))
        finally:
            if (ended := errand.drop()) and (tell := left_running.get()):
                tell(ended)
        return await value if inspect.isawaitable(value) else value

    return execute
