"""Cron expressions: when the next time is, and what they mean in words. The library cronsim reads them.

A change of the clock counts as with the cron of Debian. A time that is skipped in spring comes right after the gap, and
a time that comes twice in autumn counts once; an expression with a star for the minute or the hour follows real time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING

from pegboard import ToolError

if TYPE_CHECKING:
    from cronsim import CronSim

# Imports happen inside functions: every session has schedules, few read an expression, and that takes 20 ms to import.

LONGEST = 120
"""Characters of an expression. Long lists of minutes fit."""
FIELDS = "minute, hour, day of month, month, day of week"


@cache
def zone_of(name: str) -> tzinfo:
    """The time zone with this name; without a name, that of this machine."""
    from zoneinfo import ZoneInfo

    if not name:
        from tzlocal import get_localzone

        return get_localzone()
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # A name that is no path, a folder, an unknown name.
        reason = f"{name!r} is not a time zone. Use a name such as Europe/Berlin or UTC."
        raise ToolError(reason, code="invalid_input", remedy="") from None


def times(expression: str, after: datetime, zone: tzinfo) -> Iterator[datetime]:
    """The times after a moment, in UTC. They end where there is none in fifty years."""
    for time in _parsed(expression, after.astimezone(zone)):
        found = time.astimezone(UTC)
        # After a change of the clock the library may step back into the hour that comes twice.
        if found > after:
            yield found


def check(expression: str) -> str:
    """What is wrong with an expression, as a sentence; empty where it can be used."""
    try:
        parsed = _parsed(expression, datetime.now(UTC))
    except ToolError as error:
        return error.message
    if next(parsed, None) is None:
        return f"cron {expression!r} never comes: no day of the next fifty years fits."
    return ""


def in_words(expression: str) -> str:
    """What an expression means: `At 09:00 on Monday`."""
    return _parsed(expression, datetime.now(UTC)).explain()


def _parsed(expression: str, start: datetime) -> CronSim:
    from cronsim import CronSim, CronSimError

    fields = expression.split()
    if len(expression) > LONGEST:
        raise ToolError(f"cron has {len(expression)} characters; at most {LONGEST} are read.")
    if len(fields) != 5:
        raise ToolError(f"cron {expression!r} has {len(fields)} fields. It needs five: {FIELDS}, as in '0 9 * * 1-5'.")
    try:
        return CronSim(expression, start)
    except (CronSimError, ValueError, AssertionError) as error:
        said = str(error).removeprefix("Bad ") or "syntax"
        raise ToolError(
            f"cron {expression!r} cannot be read: the {said} is not valid. The fields are {FIELDS}."
        ) from None
