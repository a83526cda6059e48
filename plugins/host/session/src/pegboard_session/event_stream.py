"""The events of a session as something to iterate over."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Self

import anyio

from pegboard import Event
from pegboard_session.boards import ScopedHooks


class EventStream:
    """`async for event in session.events()`: what happens from the call of `events()` on, until the session closes.

    Events are queued in order until they are read. Events of sub-agents are among them, with the key `agent`.
    """

    def __init__(self, on_close: Callable[[EventStream], None]) -> None:
        self._on_close, self._waiting = on_close, deque[Event]()
        self._more: anyio.Event | None = None
        self._ended = False

    def push(self, event: Event) -> None:
        """Add an event."""
        self._waiting.append(event)
        self._wake()

    def end(self) -> None:
        """No more events: what is waiting can still be taken, then the iteration ends."""
        self._ended = True
        self._wake()

    def close(self) -> None:
        """Stop listening before the session closes."""
        self._waiting.clear()
        self.end()
        self._on_close(self)

    def _wake(self) -> None:
        if self._more:
            self._more.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._more = anyio.Event()
            await self._more.wait()
        return self._waiting.popleft()


class EventStreams:
    """Everybody who iterates over the events of one session."""

    def __init__(self, hooks: ScopedHooks) -> None:
        self._hooks, self._open = hooks, list[EventStream]()

    def open(self) -> EventStream:
        """One more listener, from now on."""
        stream = EventStream(self._forget)
        self._open.append(stream)
        self._hooks.add_observer(stream.push)
        return stream

    def push(self, event: Event) -> None:
        """Show an event that did not happen in this session itself."""
        for stream in self._open:
            stream.push(event)

    def end(self) -> None:
        """The session is over."""
        for stream in self._open:
            stream.end()

    def _forget(self, stream: EventStream) -> None:
        self._hooks.remove_observer(stream.push)
        self._open.remove(stream)
