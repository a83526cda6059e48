"""Catch what tools print, so that a host which speaks JSON on its standard output keeps it clean."""

from __future__ import annotations

import io
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

MOST = 2000

_mine: ContextVar[io.StringIO | None] = ContextVar("printed", default=None)
_installed = 0


class _Router:
    """Stands in for `sys.stdout`: inside a call the text goes to the call's own buffer, outside to where it went."""

    def __init__(self, outside: Any) -> None:
        self.outside = outside

    def write(self, text: str) -> int:
        buffer = _mine.get()
        if buffer is None:
            return self.outside.write(text)  # type: ignore[no-any-return]
        if buffer.tell() < MOST:
            buffer.write(text[:MOST])
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if _mine.get() is None:
            self.outside.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outside, name)


@contextmanager
def keep_stdout_clean() -> Generator[None, None, None]:
    """While this is on, what a tool prints is caught and noted in its result."""
    global _installed
    before = sys.stdout
    sys.stdout = _Router(before)
    _installed += 1
    try:
        yield
    finally:
        _installed -= 1
        sys.stdout = before


@contextmanager
def catching() -> Generator[list[str], None, None]:
    """What is printed inside becomes a note; costs nothing where nobody asked for it."""
    notes: list[str] = []
    if not _installed:
        yield notes
        return
    buffer = io.StringIO()
    token = _mine.set(buffer)
    try:
        yield notes
    finally:
        _mine.reset(token)
        if text := buffer.getvalue():
            notes.append(f"printed: {text[:MOST].rstrip()}")
