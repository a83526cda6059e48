"""Work that runs in the hub's thread and is awaited in the caller's event loop, asyncio or trio."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any

import anyio
from anyio.lowlevel import current_token


class Errand:
    """One piece of work. While it runs, the other side may post items, which are dealt with in the caller's loop."""

    def __init__(self) -> None:
        self._inbox: deque[Any] = deque()
        self._wake = anyio.Event()
        native: Any = current_token().native_token
        self._soon: Callable[..., object] = getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon

    def post(self, item: Any) -> None:
        """Hand something to the caller, from another thread."""
        self._inbox.append(item)
        self._ring()

    async def wait(self, future: Future[Any], handle: Callable[[Any], Awaitable[None]] | None = None) -> Any:
        """The result of the work. Cancelled, it is cancelled over there too."""
        future.add_done_callback(lambda _: self._ring())
        try:
            while True:
                while self._inbox:
                    item = self._inbox.popleft()
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
