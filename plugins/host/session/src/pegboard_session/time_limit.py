"""A prompt that has taken too long is interrupted, like one that has used up its tokens."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

import anyio

from pegboard_session.outcome import Outcome

if TYPE_CHECKING:
    from pegboard_session.loop import Session

LIMIT = "time_budget"


async def within_time(seconds: float, session: Session, answer: Awaitable[Outcome]) -> Outcome:
    """The outcome of a prompt. Its session is interrupted when the time is used up."""
    error: Exception | None = None
    outcome: Outcome | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_watch, session, seconds)
        try:
            outcome = await answer
        except Exception as raised:  # Raised again outside the group, which would put it into another exception.
            error = raised
        group.cancel_scope.cancel()
    if outcome is None:
        raise error or AssertionError("a prompt has an outcome or an error")
    return outcome


async def _watch(session: Session, seconds: float) -> None:
    await anyio.sleep(seconds)
    if not session.is_interrupted:
        session.interrupt("because its time is used up", limit=LIMIT)
