"""When to ask a model again, and how long to wait before."""

from __future__ import annotations

import random
from dataclasses import dataclass

from pegboard.errors import ProviderError

LONGEST = 60.0


@dataclass(frozen=True, slots=True)
class Retries:
    """At most `most` repetitions; the wait doubles from `first` seconds, with some chance in it, unless we are told."""

    most: int = 5
    first: float = 0.5

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """How many seconds to wait before repetition `attempt` (from 0), or None to give up."""
        if not error.retryable or attempt >= self.most:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST else None
        return min(self.first * float(2**attempt), LONGEST) * random.uniform(0.75, 1.0)
