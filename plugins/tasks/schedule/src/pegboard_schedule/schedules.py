"""The schedules of one session, and with them the durable ones of its project.

Nothing runs in the background: whoever can run a prompt, or sleeps, asks what is due. A time that passed while a prompt
was being answered, or while the machine was suspended, counts once, however many times were missed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from pegboard import ToolError
from pegboard_schedule.clock import Clock, SystemClock
from pegboard_schedule.durable import DurableSchedules

if TYPE_CHECKING:
    from pegboard_schedule.schedule import Schedule, Wanted

# Imports happen inside functions: most sessions have no schedule and never need what reads one.

SERVICE = "schedules"


@dataclass(frozen=True, slots=True)
class Limits:
    """What settings say about schedules."""

    most: int = 50
    lives: timedelta = timedelta(days=7)
    most_late: float = 900
    timezone: str = ""


class Schedules:
    """All schedules that a session knows. `keep` is called with those of the session after each change."""

    def __init__(
        self,
        clock: Clock | None = None,
        limits: Limits | None = None,
        durable: DurableSchedules | None = None,
        keep: Callable[[list[dict[str, Any]]], None] | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self._limits, self._durable, self._keep = limits or Limits(), durable, keep
        self._own: dict[str, Schedule] = {}
        self._served: dict[str, Schedule] = {}
        self._is_serving = False

    def load(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Go on with schedules that were kept. What makes no sense, or has expired, is left out.

        A recurring one continues with its next time: what was missed while no process was there is not made up for.
        """
        from pegboard_schedule.schedule import kept

        now = self.clock.now()
        for row in rows:
            try:
                going_on = self._resumed(kept(row, durable=False), now)
            except (ValueError, ToolError):
                continue
            self._own |= {going_on.id: going_on} if going_on else {}

    def add(self, wanted: Wanted) -> Schedule:
        """A new schedule."""
        from pegboard_schedule.schedule import new

        wanted = wanted.model_copy(update={"timezone": wanted.timezone or self._limits.timezone})
        known = self.durable() if wanted.durable else self.own()
        if len(known) >= self._limits.most:
            what = "durable schedules" if wanted.durable else "schedules"
            raise ToolError(
                f"There are {len(known)} {what} already, and at most {self._limits.most} are kept (setting "
                "schedule.most). Delete one with CronDelete first.",
                code="too_large",
                remedy="",
            )
        lives = None if wanted.durable else self._limits.lives
        made = new(wanted, self.clock.now(), self._limits.most_late, lives)
        if wanted.durable:
            self._store.add(made)
        else:
            self._own[made.id] = made
            self._note()
        return made

    def remove(self, key: str) -> Schedule:
        """Delete a schedule; a `ToolError` names those that exist."""
        known = {schedule.id: schedule for schedule in self.all()}
        if key not in known:
            ids = ", ".join(known) or "none"
            raise ToolError(f"There is no schedule {key!r}. The ids are: {ids}.", code="not_found", remedy="")
        if known[key].durable:
            self._store.remove(key)
        else:
            del self._own[key]
            self._note()
        return known[key]

    def own(self) -> list[Schedule]:
        """Those of the session, the next one first."""
        now = self.clock.now()
        expired = [key for key, found in self._own.items() if found.expires and found.expires < now]
        for key in expired:
            del self._own[key]
        if expired:
            self._note()
        return sorted(self._own.values(), key=lambda found: found.due)

    def durable(self) -> list[Schedule]:
        """The durable ones of the project, the next one first."""
        if self._durable is None:
            return []
        now = self.clock.now()
        known: dict[str, Schedule] = {}
        for found in self._durable.all():
            # While they are served, a time that has passed is due; otherwise no one will run it.
            going_on = self._served.get(found.id) or self._resumed(found, now)
            known |= {found.id: going_on} if going_on else {}
        if self._is_serving:
            self._served = known
        return sorted(known.values(), key=lambda found: found.due)

    def all(self) -> list[Schedule]:
        """All of them."""
        return [*self.own(), *self.durable()]

    def next_due(self) -> datetime | None:
        """When the next prompt that this process runs is due."""
        return min((found.due for found in self._runnable()), default=None)

    def take_due(self) -> str | None:
        """The prompt that is due for the longest time, as the model reads it; the schedule moves to its next time."""
        now = self.clock.now()
        found = next((found for found in self._runnable() if found.due <= now), None)
        if found is None:
            return None
        # Before it runs: a prompt that ends the process must not come again.
        self._move_on(found, now)
        return found.text(now)

    async def next_prompt(self) -> str | None:
        """Wait for the next prompt that is due; None where nothing is left to wait for."""
        while (until := self.next_due()) is not None:
            if (text := self.take_due()) is not None:
                return text
            await self.clock.wait(until)
        return None

    @contextmanager
    def serving(self) -> Generator[None, None, None]:
        """Inside, durable schedules are run too. Only one process at a time can do that for a project."""
        if self._durable is None:
            yield
            return
        with self._durable.serving():
            self._is_serving, self._served = True, {}
            try:
                yield
            finally:
                self._is_serving = False

    @property
    def _store(self) -> DurableSchedules:
        if self._durable is None:
            raise ToolError("This host keeps no durable schedules. Use durable: false.", code="unsupported", remedy="")
        return self._durable

    def _runnable(self) -> list[Schedule]:
        found = self.all() if self._is_serving else self.own()
        return sorted(found, key=lambda schedule: schedule.due)

    def _move_on(self, found: Schedule, now: datetime) -> None:
        later = found.after(now, self._limits.most_late) if found.recurring else None
        if not found.durable:
            self._own.pop(found.id)
            self._own |= {found.id: later} if later else {}
            self._note()
        elif later:
            self._served[found.id] = later
        else:
            self._served.pop(found.id, None)
            self._store.remove(found.id)

    def _resumed(self, found: Schedule, now: datetime) -> Schedule | None:
        """A schedule of an earlier process: one that runs once is late, a recurring one waits for its next time."""
        if found.expires and found.expires < now:
            return None
        return found if found.due > now or not found.recurring else found.after(now, self._limits.most_late)

    def _note(self) -> None:
        if self._keep:
            self._keep([found.model_dump(mode="json") for found in self._own.values()])
