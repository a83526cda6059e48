"""Work that runs in the hub's thread and is awaited in the caller's event loop, asyncio or trio."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import anyio
from anyio.lowlevel import current_token

MOST_WAITING = 1_000
"""Signs of life that wait for a busy caller; a server may send more than anyone can show."""


class Errand:
    """One piece of work. While it runs, the other side may post items, which are dealt with in the caller's loop."""

    def __init__(self) -> None:
        self.clock: anyio.CancelScope | None = None
        """The time limit of the work, over there."""
        self.is_over = False
        """Whether the work had ended when the caller came to the last item."""
        self.questions = 0
        """How often the server has asked something meanwhile."""
        self._asking = 0
        self._left = 0.0
        self._inbox: deque[Any] = deque()
        self._wake = anyio.Event()
        native: Any = current_token().native_token
        self._soon: Callable[..., object] = getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon

    def post(self, item: Any, *, may_be_lost: bool = False) -> None:
        """Hand something to the caller, from another thread. What may be lost is, while too much waits."""
        if may_be_lost and len(self._inbox) >= MOST_WAITING:
            return
        self._inbox.append(item)
        self._ring()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Stop the clock of the work: the time that a person takes for an answer does not count."""
        clock = self.clock
        if clock is None:
            yield
            return
        if not self._asking:
            self._left, clock.deadline = clock.deadline - anyio.current_time(), float("inf")
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                clock.deadline = anyio.current_time() + self._left

    async def wait(self, future: Future[Any], handle: Callable[[Any], Awaitable[None]] | None = None) -> Any:
        """The result of the work. Cancelled, it is cancelled over there too."""
        future.add_done_callback(lambda _: self._ring())
        try:
            while True:
                while self._inbox:
                    item, self.is_over = self._inbox.popleft(), future.done()
                    if handle:
                        await handle(item)
                if future.done():
                    break
                await self._wake.wait()
                self._wake = anyio.Event()
            try:
                return future.result()
            except CancelledError:
                raise ConnectionError("The connection was closed.") from None
        finally:
            if not future.done():
                future.cancel()

    def _ring(self) -> None:
        try:
            self._soon(lambda: self._wake.set())
        except RuntimeError:
            return  # The caller's event loop is over: no one waits.


current: ContextVar[Errand | None] = ContextVar("the call of a server's tool", default=None)
"""The work that a task in the hub's loop belongs to. Older servers ask outside it."""
