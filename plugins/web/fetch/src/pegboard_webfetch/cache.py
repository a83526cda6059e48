"""An in-memory cache of recent pages: bounded in bytes, least recently used first out, expired entries dropped."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

MOST_BYTES = 30_000_000

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Keeps values for a limited time. Every access first drops all expired entries."""

    def __init__(self, most_bytes: int = MOST_BYTES, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most_bytes, now
        self._kept: OrderedDict[Hashable, tuple[Value, int, float]] = OrderedDict()
        self._lock = Lock()
        self.size = 0
        """The number of bytes in the cache."""

    def get(self, key: Hashable) -> Value | None:
        """The value, if it has not expired."""
        with self._lock:
            self._expire()
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Value, size: int, seconds: float) -> None:
        """Keep a value for some seconds, unless it is too large for the cache."""
        with self._lock:
            self._expire()
            self._drop(key)
            if size > self._most or seconds <= 0:
                return
            self._kept[key] = (value, size, self._now() + seconds)
            self.size += size
            while self.size > self._most:
                self._drop(next(iter(self._kept)))

    def _expire(self) -> None:
        now = self._now()
        for key in [key for key, (_, _, until) in self._kept.items() if until <= now]:
            self._drop(key)

    def _drop(self, key: Hashable) -> None:
        if found := self._kept.pop(key, None):
            self.size -= found[1]
