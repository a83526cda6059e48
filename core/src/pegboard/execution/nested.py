"""A tool that calls another one: through the whole pipeline, like a call of the model.

It runs inside the act of the outer call, so it has no place in the turn: the time of the outer call is its time, and
what it changes around it is in its result, for the outer tool to pass on or not.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import anyio

from pegboard.calls import JSON, Call, Decision, Result
from pegboard.context import Context
from pegboard.contract import Facts
from pegboard.errors import ToolError
from pegboard.execution.dispatch import STOP, Desk, Seat, dispatch, within

DEEPEST = 5
"""How many calls may stand inside one another: a tool that calls itself must come to an end."""

_depth: ContextVar[int] = ContextVar("depth of nested calls", default=0)
_alone: ContextVar[bool] = ContextVar("whether a call around this one has the lock", default=False)


class Inside(Seat):
    """The seat of a call within another: it asks in its turn, and what is not safe runs alone among its kind."""

    def __init__(self, outer: Seat | None, lock: anyio.Lock) -> None:
        self._outer, self._lock = outer, lock
        self._needs = self._has = False

    async def settle(self, facts: Facts) -> None:
        """Unsafe calls wait for one another, but not for one that they stand in."""
        self._needs = not facts.concurrency_safe and not _alone.get()

    async def ask(self, question: Callable[[], Awaitable[Decision | None]]) -> Decision | None:
        """Put a question where the outer call would."""
        return await (self._outer.ask(question) if self._outer else question())

    async def begin(self) -> None:
        """Permission is given and the act begins."""
        if self._needs:
            await self._lock.acquire()
            self._has = True
            _alone.set(True)

    def leave(self) -> None:
        """The call is over, however it went."""
        if self._has:
            self._lock.release()


async def dispatch_nested(name: str, input: JSON, ctx: Context, desk: Desk, lock: anyio.Lock) -> Result:
    """Handle a call that a tool makes, with the tools and the permission of whoever called that tool."""
    if _depth.get() >= DEEPEST:
        raise ToolError(f"{name} was not called: calls are nested at most {DEEPEST} deep.", code="unsupported")
    outer = within.get()
    seat = Inside(outer[0] if outer else None, lock)
    call = Call(f"nested-{secrets.token_hex(4)}", name, input)
    depth, alone = _depth.set(_depth.get() + 1), _alone.get()
    try:
        result = await dispatch(call, ctx, desk, seat)
    finally:
        seat.leave()
        _depth.reset(depth)
        _alone.set(alone)
        within.set(outer)
    if outer and (stop := result.metadata.get(STOP)):
        outer[1].take("", stop)
    return result
