"""Catch what tools print, so that a command which writes JSON on its standard output keeps it clean."""

from __future__ import annotations

import io
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Self

from pegboard import Context, Output, Tool, hookimpl

MOST = 2000
PRINTED = "printed: "
"""How the note in a result begins."""

_mine: ContextVar[io.StringIO | None] = ContextVar("printed", default=None)

Execute = Callable[[Any, Context], Awaitable[Any]]


class _Router:
    """Replaces `sys.stdout`: inside a call the text goes to the call's own buffer, outside to where it went."""

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


class StdoutCapture:
    """A plugin of the board of a command. Inside `with`, what a tool prints is caught and noted in its result."""

    def __enter__(self) -> Self:
        self._outside, sys.stdout = sys.stdout, _Router(sys.stdout)
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout = self._outside

    @hookimpl(priority=-1000)
    def wrap_execute(self, tool: Tool[Any, Any], execute: Execute) -> Execute:
        """Surround everything else: other wrappers may print, too."""

        async def captured(args: Any, ctx: Context) -> Any:
            buffer = io.StringIO()
            token = _mine.set(buffer)
            try:
                returned = await execute(args, ctx)
            finally:
                _mine.reset(token)
            text = buffer.getvalue()
            if not text:
                return returned
            output: Output[Any] = returned if isinstance(returned, Output) else Output(returned)
            return replace(output, notes=(*output.notes, f"{PRINTED}{text[:MOST].rstrip()}"))

        return captured
