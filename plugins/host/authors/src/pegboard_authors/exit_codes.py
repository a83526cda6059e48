"""How a command of this distribution ends."""

from __future__ import annotations

OK, FOUND, USAGE = 0, 1, 2


class UsageError(Exception):
    """What was asked for cannot be done; the message says why and what to do."""
