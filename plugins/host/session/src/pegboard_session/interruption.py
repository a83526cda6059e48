"""How a person or a limit stops what a session is doing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import anyio

from pegboard import Turn


class Interruption:
    """What is stopped when a session is interrupted, and whether it has been."""

    def __init__(self) -> None:
        self.happened = False
        self.limit = ""
        """The limit that interrupted it; empty for an interruption by a person."""
        self.turn: Turn | None = None
        self._scope: anyio.CancelScope | None = None

    def reset(self) -> None:
        """A new prompt begins."""
        self.happened, self.limit = False, ""

    @contextmanager
    def cancels(self) -> Generator[anyio.CancelScope, None, None]:
        """What is awaited inside ends when the session is interrupted."""
        with anyio.CancelScope() as scope:
            self._scope = scope
            try:
                yield scope
            finally:
                self._scope = None

    def request(self, why: str, limit: str) -> None:
        """Stop the running turn, and whatever else is awaited."""
        if limit and not self.happened:
            self.limit = limit
        self.happened = True
        if self.turn:
            self.turn.cancel(why)
        if self._scope:
            self._scope.cancel()
