"""What wakes a session that sleeps: news, a prompt that waits, a schedule that is due, or the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import anyio

if TYPE_CHECKING:
    from pegboard_schedule.schedules import Schedules
    from pegboard_session import Session

SERVICE = "alarm"
Woken = Literal["time", "news", "prompt", "schedule"]
WAKING: dict[str, Woken] = {"news": "news", "prompt_waiting": "prompt"}
"""The events of a session that end its sleep."""


class Alarm:
    """The alarm of one session, or of one sub-agent's."""

    def __init__(self, session: Session, schedules: Schedules | None) -> None:
        self._session, self._schedules = session, schedules

    async def sleep(self, seconds: float) -> Woken:
        """Sleep so long, or until something happens."""
        events = self._session.events()
        woken: list[Woken] = []
        try:
            # After listening has begun: what is announced in between must not be slept through.
            if self._session.conversation.has_news:
                return "news"
            with anyio.move_on_after(seconds) as scope:
                async with anyio.create_task_group() as group:

                    def wake(why: Woken) -> None:
                        woken.append(why)
                        scope.cancel()

                    if self._schedules:
                        group.start_soon(self._wait_for_schedule, self._schedules, wake)
                    async for event in events:
                        # Events of sub-agents are heard too; they have a model of their own to tell.
                        if event.kind in WAKING and event.data.get("session") == self._session.id:
                            wake(WAKING[event.kind])
        finally:
            events.close()
        return woken[0] if woken else "time"

    async def _wait_for_schedule(self, schedules: Schedules, wake: Callable[[Woken], None]) -> None:
        while (due := schedules.next_due()) is None or due > schedules.clock.now():
            await schedules.clock.wait(due)
        wake("schedule")
