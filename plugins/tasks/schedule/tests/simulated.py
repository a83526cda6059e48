"""A clock for tests that stands still until it is waited on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio.lowlevel

from pegboard_schedule.clock import LONGEST_NAP


class SimulatedClock:
    """Whoever waits is there at once."""

    def __init__(self, start: str = "2026-03-02T00:00:00+00:00") -> None:
        self.time = datetime.fromisoformat(start).astimezone(UTC)

    def now(self) -> datetime:
        return self.time

    async def wait(self, until: datetime | None) -> None:
        await anyio.lowlevel.checkpoint()
        self.time = until if until and until > self.time else self.time + timedelta(seconds=LONGEST_NAP)

    def pass_by(self, **time: float) -> None:
        self.time += timedelta(**time)
