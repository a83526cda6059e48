"""Catch what tools print, so that a host which speaks JSON on its standard output keeps it clean."""

from __future__ import annotations

import io
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pegboard.context import Context

MOST = 2000

_mine: ContextVar[io.StringIO | None] = ContextVar("printed", default=None)
is_on = False
"""Whether output is caught now; a call looks here, so that nothing is spent where nobody asked for it."""


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
    global is_on
    before, was_on = sys.stdout, is_on
    sys.stdout, is_on = _Router(before), True
    try:
        yield
    finally:
        sys.stdout, is_on = before, was_on


async def capture(
    execute: Callable[[Any, Context], Awaitable[Any]], args: Any, ctx: Context
) -> tuple[Any, tuple[str, ...]]:
    """What a tool returned, and what it printed as a note."""
    buffer = io.StringIO()
    token = _mine.set(buffer)
    try:
        returned = await execute(args, ctx)
    finally:
        _mine.reset(token)
    text = buffer.getvalue()
    return returned, (f"printed: {text[:MOST].rstrip()}",) if text else ()
