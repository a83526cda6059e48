"""When to ask a model again, and how long to wait before."""

from __future__ import annotations

import random
from dataclasses import dataclass

from pegboard import ProviderError, Settings

MOST = 1000
LONGEST = 60.0
WATCHED, UNWATCHED = 120.0, 1800.0
"""Seconds to keep retrying with a person at the screen, and with no one watching."""


@dataclass(frozen=True, slots=True)
class Retries:
    """At most `most` repetitions in `seconds`; the wait doubles from `first` seconds, with some chance in it.

    A service that says how long to wait is obeyed up to `longest` seconds, and given up on beyond.
    """

    most: int = MOST
    first: float = 0.5
    longest: float = LONGEST
    seconds: float = WATCHED

    @classmethod
    def of(cls, settings: Settings, *, watched: bool = False) -> Retries:
        """How long to keep retrying: as the settings say, else longer when no one is watching."""
        return cls(
            most=settings.get("retries.tries", MOST + 1) - 1,
            longest=settings.get("retries.maxWaitSeconds", LONGEST),
            seconds=settings.get("retries.seconds", WATCHED if watched else UNWATCHED),
        )

    def delay(self, error: ProviderError, attempt: int, elapsed: float = 0.0) -> float | None:
        """How many seconds to wait before repetition `attempt` (from 0), or None to give up."""
        if not error.retryable or attempt >= self.most:
            return None
        asked = error.retry_after
        if asked is not None and asked > self.longest:
            return None
        # Bounded, because a run of hours has thousands of attempts and 2.0 ** 1024 overflows.
        wait = self.first * 2.0 ** min(attempt, 30)
        # Jitter, so that many clients that failed together do not come back together.
        wait = min(wait, self.longest) * random.uniform(0.75, 1.0) if asked is None else asked
        return wait if elapsed + wait <= self.seconds else None
