"""A tool that calls another one: through the whole pipeline, like a call of the model.

It runs inside the act of the outer call, so it has no place in the turn: the time of the outer call is its time, and
what it changes around it is in its result, for the outer tool to pass on or not.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import replace

import anyio

from pegboard.calls import JSON, Call, Result
from pegboard.context import Context
from pegboard.contract import Facts
from pegboard.errors import ToolError
from pegboard.execution.dispatch import STOP, CallRun, T, ToolHost, dispatch, within

DEEPEST = 5
"""How many calls may stand inside one another: a tool that calls itself must come to an end."""

_depth: ContextVar[int] = ContextVar("depth of nested calls", default=0)
_alone: ContextVar[bool] = ContextVar("whether a call around this one has the lock", default=False)


class NestedCall(CallRun):
    """A call within another: it asks in the turn of the outer one, and what is not safe runs alone among its kind."""

    _needs_lock: bool = False
    _has_lock: bool = False

    def __init__(self, call: Call, base: Context, outer: CallRun | None, lock: anyio.Lock) -> None:
        super().__init__(call, base)
        self._outer, self._lock = outer, lock

    async def settle(self, facts: Facts) -> None:
        """Unsafe calls wait for one another, but not for one that they are made by."""
        await super().settle(facts)
        self._needs_lock = not facts.concurrency_safe and not _alone.get()

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """Put a question where the outer call would: the time of both stands still."""
        outer = self._outer
        return await super().ask((lambda: outer.ask(question)) if outer else question)

    async def begin(self) -> None:
        """Permission is given and the act begins."""
        if self._needs_lock:
            await self._lock.acquire()
            self._has_lock = True
            _alone.set(True)

    def leave(self) -> None:
        """The call is over, however it went."""
        if self._has_lock:
            self._lock.release()


async def dispatch_nested(name: str, input: JSON, ctx: Context, host: ToolHost, lock: anyio.Lock) -> Result:
    """Handle a call that a tool makes, with the tools and the permission of whoever called that tool."""
    if _depth.get() >= DEEPEST:
        raise ToolError(f"{name} was not called: calls can be nested at most {DEEPEST} deep.", code="unsupported")
    outer = within.get()
    if outer:
        ctx = _with_own_files(ctx, outer)
    run = NestedCall(Call(f"nested-{secrets.token_hex(4)}", name, input), ctx, outer, lock)
    depth, alone = _depth.set(_depth.get() + 1), _alone.get()
    try:
        result = await dispatch(run, host)
    finally:
        run.leave()
        _depth.reset(depth)
        _alone.set(alone)
        within.set(outer)
    if outer and (stop := result.metadata.get(STOP)):
        outer.note("", stop)
    return result


def _with_own_files(ctx: Context, outer: CallRun) -> Context:
    """The context with the file record that all calls of the outer one share.

    What a tool reads for itself is not what the model was shown: the model would be told that it has seen the file,
    or be allowed to overwrite it, without ever having had it.
    """
    files = ctx.services.files
    if files is None:
        return ctx
    if outer.nested_files is None:
        outer.nested_files = files.fork()
    return replace(ctx, services=replace(ctx.services, files=outer.nested_files))
