"""Blocking tools run in threads: so many for the whole process, and one that cannot be stopped is remembered here."""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from anyio import CapacityLimiter, Event, to_thread
from anyio.lowlevel import current_token

from pegboard.context import Context
from pegboard.contract import Tool
from pegboard.errors import ToolError

MAX_THREADS = 64
"""How many blocking calls act at once in one process, whatever sessions, boards and event loops they belong to.

Calls that a blocking tool makes are not counted: it waits for them in its own thread, so with them counted, tools that
wait for one another could use up all threads. They are at most `nested.DEEPEST` deep."""

left_running: ContextVar[Callable[[threading.Event], None] | None] = ContextVar("left_running", default=None)
"""Whom to tell when a call is cancelled and its thread goes on; the event is set when the thread ends."""

_in_thread: ContextVar[bool] = ContextVar("whether a call around this one has a thread", default=False)


class _Waiter(NamedTuple):
    admitted: Any
    call_soon: Callable[[Callable[[], None]], object]


class ThreadSlots:
    """Admits so many threads, in the order in which they came. Works across event loops and threads."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._lock = threading.Lock()
        self._waiting: deque[_Waiter] = deque()

    async def acquire(self) -> None:
        """Wait for a slot."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            waiter = self._new_waiter()
            self._waiting.append(waiter)
        try:
            await waiter.admitted.wait()
        except BaseException:
            with self._lock:
                # Under the lock: `release` may admit it from another thread at this very moment.
                is_waiting = waiter in self._waiting
                if is_waiting:
                    self._waiting.remove(waiter)
            if not is_waiting:
                self.release()  # Admitted in the moment in which it gave up.
            raise

    def release(self) -> None:
        """Hand a slot on, from any thread. Whoever waited in an event loop that is gone by now is passed over."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                waiter = self._waiting.popleft()
            try:
                waiter.call_soon(waiter.admitted.set)
                return
            except RuntimeError:
                continue

    @staticmethod
    def _new_waiter() -> _Waiter:
        loop: Any = current_token().native_token
        return _Waiter(Event(), getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon)


slots = ThreadSlots(MAX_THREADS)


@dataclass(frozen=True, slots=True)
class AbandonedThread:
    """The thread of a call that was stopped while it could still change something."""

    id: str
    name: str
    ended: threading.Event
    paths: tuple[Path, ...] = ()


class AbandonedThreads:
    """The threads that a session left running. All turns of a session share one: a thread may outlive its turn."""

    def __init__(self) -> None:
        self._known: list[AbandonedThread] = []

    def __bool__(self) -> bool:
        return bool(self._known)

    def add(self, thread: AbandonedThread) -> None:
        """Remember a thread."""
        self._known.append(thread)

    async def outlast(self, seconds: float) -> list[AbandonedThread]:
        """Wait until all have ended, but not longer than this; those that have not are returned, and only this once."""
        limit = time.monotonic() + seconds
        for thread in list(self._known):
            rest = max(0.0, limit - time.monotonic())
            if not thread.ended.is_set():
                await to_thread.run_sync(thread.ended.wait, rest, abandon_on_cancel=True, limiter=CapacityLimiter(1))
        late = [thread for thread in self._known if not thread.ended.is_set()]
        self._known.clear()
        return late


class ThreadCall:
    """One blocking call on its way to a thread. It either never begins or is known to run."""

    def __init__(self, tool: Tool[Any, Any], args: Any, ctx: Context, release: Callable[[], None] | None) -> None:
        self._tool, self._args, self._ctx, self._release = tool, args, ctx, release
        self._left: threading.Event | None = None
        self._over = False
        self._may_begin = threading.Lock()

    def run(self) -> Any:
        """Call the tool, in its thread."""
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
            if self._release:
                self._release()

    def drop(self) -> threading.Event | None:
        """Give up on it. If it runs all the same, the event that is set when it ends."""
        if self._over:
            return None
        if self._may_begin.acquire(blocking=False):  # It will never begin.
            if self._release:
                self._release()
            return None
        self._left = ended = threading.Event()
        # It may have ended while the event was made; whoever came first, it is set now. Asked through the property,
        # because type checkers believe that what was false above still is.
        if self.is_over:
            ended.set()
        return ended

    @property
    def has_begun(self) -> bool:
        """Whether a thread has taken it."""
        return self._may_begin.locked()

    @property
    def is_over(self) -> bool:
        """Whether the thread has left the tool."""
        return self._over


def in_thread(tool: Tool[Any, Any]) -> Callable[[Any, Context], Awaitable[Any]]:
    """How a blocking tool runs: in a thread that is abandoned when the call is cancelled."""

    async def execute(args: Any, ctx: Context) -> Any:
        is_inner = _in_thread.get()
        if not is_inner:
            await slots.acquire()
        thread_call = ThreadCall(tool, args, ctx, None if is_inner else slots.release)
        token = _in_thread.set(True)
        try:
            # A limiter of its own: the slots above are what limits threads.
            value = await to_thread.run_sync(thread_call.run, abandon_on_cancel=True, limiter=CapacityLimiter(1))
        except (RuntimeError, MemoryError) as error:
            if thread_call.has_begun:
                raise
            raise _no_thread(tool, error) from error
        finally:
            _in_thread.reset(token)
            if (ended := thread_call.drop()) and (tell := left_running.get()):
                tell(ended)
        return await value if inspect.isawaitable(value) else value

    return execute


def _no_thread(tool: Tool[Any, Any], error: Exception) -> ToolError:
    reason = f"{tool.name} did not run: the machine could not start a thread for it ({error or 'out of memory'})."
    return ToolError(reason, code="failed", remedy="Try again when less is running.")


def runner(tool: Tool[Any, Any], wrappers: tuple[Callable[..., Any], ...]) -> Callable[[Any, Context], Awaitable[Any]]:
    """How a tool runs: awaited, or in a thread; inside every wrapper that wants it, the first outermost."""
    execute: Any = tool.call if tool.is_async else in_thread(tool)
    for wrap in reversed(wrappers):
        execute = wrap(tool, execute) or execute
    return execute  # type: ignore[no-any-return]
