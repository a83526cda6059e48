"""One schedule: a prompt, its times, and how late it may be."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from pegboard import ToolError
from pegboard_schedule.cron import LONGEST, check, times, zone_of

LONGEST_PROMPT = 10_000
SHARE = 0.1
"""How much of its interval a schedule may be late."""
LATE = timedelta(minutes=2)
"""From here on the model is told that a prompt is late."""

MENTION = re.compile(r"(?<![\w@])@(?=[\w.-]+:)")
"""What would have a resource of a server read without a question."""
YEARS = range(1971, 9999)
"""Times that every zone can express."""


class Wanted(BaseModel):
    """What a schedule shall be."""

    model_config = ConfigDict(frozen=True)

    cron: str = Field(max_length=LONGEST)
    prompt: str = Field(min_length=1, max_length=LONGEST_PROMPT)
    recurring: bool = True
    durable: bool = False
    timezone: str = ""


class Schedule(Wanted):
    """A prompt that comes back. Times are in UTC."""

    id: str = Field(pattern=r"^[0-9a-f]{8}$")
    due: AwareDatetime
    """When it runs next, lateness included."""
    expires: AwareDatetime | None = None

    def after(self, now: datetime, most_late: float) -> Schedule | None:
        """The same schedule for its next time after this moment; None where there is none."""
        due = next_due(self, self.id, now, most_late)
        return None if due is None else self.model_copy(update={"due": due})

    def text(self, now: datetime) -> str:
        """The prompt as the model reads it. The heading keeps it from ever being a slash command.

        A person who mentions `@server:uri` wants it read; a model, which may have written this, must ask for that.
        """
        when = self.due.astimezone(zone_of(self.timezone))
        late = f", due {when:%Y-%m-%d %H:%M %Z} and late" if now - self.due > LATE else ""
        return f"Scheduled prompt {self.id} ({self.cron}{late}):\n\n{MENTION.sub('@ ', self.prompt)}"


def kept(row: object, *, durable: bool) -> Schedule:
    """A schedule from a file. A `ValueError` or a `ToolError` where no schedule that was made here could be so."""
    found = Schedule.model_validate(row)
    if found.durable is not durable:
        raise ValueError("it belongs into another file")
    if any(time.year not in YEARS for time in (found.due, found.expires) if time):
        raise ValueError("a time is out of range")
    zone_of(found.timezone)
    if problem := check(found.cron):
        raise ToolError(problem)
    return found


def new(wanted: Wanted, now: datetime, most_late: float, lives: timedelta | None) -> Schedule:
    """A schedule from now on; a `ToolError` where it would never run."""
    if problem := check(wanted.cron):
        raise ToolError(problem)
    key = secrets.token_hex(4)
    due = next_due(wanted, key, now, most_late)
    if due is None:
        raise ToolError(f"cron {wanted.cron!r} never comes.")
    expires = now + lives if lives and wanted.recurring else None
    if expires and due > expires:
        reason = f"The first time would be {due:%Y-%m-%d %H:%M} UTC, and schedules of a session end {expires:%Y-%m-%d}."
        raise ToolError(f"{reason} Use recurring: false, or ask the user for a durable schedule.")
    return Schedule(**wanted.model_dump(), id=key, due=due, expires=expires)


def next_due(wanted: Wanted, key: str, now: datetime, most_late: float) -> datetime | None:
    """The next time, plus how late this schedule always is: never more than a share of its interval."""
    coming = times(wanted.cron, now.astimezone(UTC), zone_of(wanted.timezone))
    first = next(coming, None)
    if first is None or not wanted.recurring:
        return first
    second = next(coming, first)
    share = int.from_bytes(sha256(key.encode()).digest()[:4]) / 2**32
    late = timedelta(seconds=int(min(most_late, (second - first).total_seconds() * SHARE) * share))
    return first + late
