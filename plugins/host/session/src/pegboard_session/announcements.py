"""Tell plugins what happens besides calls and prompts: a worktree is made, a task is completed, a server asks.

Whoever does it announces it, whoever listens implements `hear_event`, and neither has to know the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard import Context
from pegboard_session.hookspecs import EventAnswer

if TYPE_CHECKING:
    from pegboard_session.loop import Session

SERVICE = "events"


class Announcements:
    """The announcements of one session. `ctx.service("events")` is one."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: list[tuple[str, Mapping[str, Any]]] = []

    async def announce(self, event: str, about: Mapping[str, Any], ctx: Context) -> EventAnswer:
        """Tell it now, and return what all listeners said together."""
        session = self._session
        # The context of a call has the board's hooks around its processes already; twice would be a sandbox in itself.
        is_bare = ctx.services.processes is session.ctx.services.processes
        return await session.hooks.event(ctx, event, about, is_bare=is_bare)

    def later(self, event: str, about: Mapping[str, Any]) -> None:
        """Tell it before the next request, for what happens where nothing can be awaited. No answer counts."""
        self._waiting.append((event, about))

    async def tell_waiting(self) -> None:
        """Tell what has waited."""
        waiting, self._waiting = self._waiting, []
        for event, about in waiting:
            await self.announce(event, about, self._session.ctx)


async def announce(event: str, about: Mapping[str, Any], ctx: Context) -> EventAnswer:
    """Tell plugins that something is about to happen, and return what they say to it.

    Outside a session, where no one listens, it returns an empty answer. The words of `about` are the fields that
    user hooks read.
    """
    found = ctx.services.others.get(SERVICE)
    return await found.announce(event, about, ctx) if isinstance(found, Announcements) else EventAnswer()


def announce_later(event: str, about: Mapping[str, Any], ctx: Context) -> None:
    """The same from where nothing can be awaited: it is told before the next request, and no answer counts."""
    found = ctx.services.others.get(SERVICE)
    if isinstance(found, Announcements):
        found.later(event, about)
