"""Limit the number of simultaneous requests to each host."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.lowlevel import current_token

MOST_PER_HOST = 6


class Lanes:
    """A limit per host, kept only while it is in use."""

    def __init__(self, most: int = MOST_PER_HOST) -> None:
        self._most = most
        self._lanes: dict[tuple[object, str], tuple[anyio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def lane(self, host: str) -> AsyncIterator[None]:
        """Hold one of a host's slots; wait until one is free."""
        key = (current_token(), host)  # A semaphore belongs to one event loop; hosts are shared by all of them.
        limit, users = self._lanes.setdefault(key, (anyio.Semaphore(self._most), []))
        users.append(None)
        try:
            async with limit:
                yield
        finally:
            users.pop()
            if not users:
                del self._lanes[key]
