"""What time it is, and waiting for a time. Schedules are given a clock: a test gives one that it moves itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

import anyio

LONGEST_NAP = 20.0
"""Seconds between two looks at the clock: the time of a machine jumps when it was suspended or is set."""


class Clock(Protocol):
    """Tells the time, always in UTC."""

    def now(self) -> datetime:
        """The time."""
        ...

    async def wait(self, until: datetime | None) -> None:
        """Wait for a time, or for a while where it is far away or None: whoever waits looks at `now` again."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The time."""
        return datetime.now(UTC)

    async def wait(self, until: datetime | None) -> None:
        """Wait for a time, at most for `LONGEST_NAP`."""
        left = LONGEST_NAP if until is None else (until - self.now()).total_seconds()
        await anyio.sleep(min(max(left, 0.0), LONGEST_NAP))
