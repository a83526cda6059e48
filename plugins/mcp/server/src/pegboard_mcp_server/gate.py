"""Which calls of one client may act at the same time: those that are safe together, up to a limit; others alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import Event


class Gate:
    """Safe calls share it; a call that is not safe waits for all others and holds those after it."""

    def __init__(self, cap: int) -> None:
        self._cap, self._acting, self._waiting_alone = cap, 0, 0
        self._alone = False
        self._moved = Event()

    @asynccontextmanager
    async def acting(self, *, safe: bool) -> AsyncIterator[None]:
        """Wait for the turn of a call, and hold it while it acts."""
        self._waiting_alone += not safe
        try:
            while not self._may_act(safe):
                await self._moved.wait()
            self._acting += 1
            self._alone = not safe
        finally:
            self._waiting_alone -= not safe
            self._wake()  # One that gave up waiting no longer holds others.
        try:
            yield
        finally:
            self._acting -= 1
            self._alone = False
            self._wake()

    def _may_act(self, safe: bool) -> bool:
        if self._alone or self._acting >= self._cap:
            return False
        return not self._waiting_alone if safe else not self._acting

    def _wake(self) -> None:
        self._moved.set()
        self._moved = Event()
