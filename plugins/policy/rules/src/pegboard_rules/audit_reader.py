"""Read the audit log back: all files of it, oldest first, whatever state they are in."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from pegboard_rules.audit import KEPT

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
LONGEST = 1_000_000
"""How many bytes of a line are read: a record is never longer, so a longer line is broken."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records to show; what is empty does not matter."""

    since: datetime | None = None
    denied: bool = False
    session: str = ""
    tools: tuple[str, ...] = ()

    def has(self, record: dict[str, Any]) -> bool:
        """Whether this record is among them."""
        if self.denied and record.get("decision") != "deny":
            return False
        if self.tools and record.get("tool") not in self.tools:
            return False
        if not str(record.get("session", "")).startswith(self.session):
            return False
        return self.since is None or moment_of(record) >= self.since


@dataclass(slots=True)
class AuditReader:
    """The records of a log. `broken` counts the lines that cannot be read, once all are read."""

    path: str
    kept: int = KEPT
    broken: int = field(default=0, init=False)

    def records(self, wanted: Wanted) -> Iterator[dict[str, Any]]:
        """The records that are wanted, oldest first."""
        with ExitStack() as opened:
            for file in self._open_all(opened):
                while line := file.readline(LONGEST):
                    record = _record(line)
                    if record is None:
                        self.broken += 1
                    elif wanted.has(record):
                        yield record

    def _open_all(self, opened: ExitStack) -> list[BinaryIO]:
        """Open every file at once, under the lock of whoever renames them: none is missed, and none read twice."""
        lock: int | None = None
        with suppress(OSError):
            lock = os.open(f"{self.path}.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_SH)
        files: list[BinaryIO] = []
        try:
            # Oldest first, so that the records come in the order in which they were written.
            for name in [*(f"{self.path}.{number}" for number in range(self.kept, 0, -1)), self.path]:
                with suppress(FileNotFoundError):
                    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                    files.append(opened.enter_context(os.fdopen(descriptor, "rb")))
        finally:
            if lock is not None:
                os.close(lock)
        return files


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
        moment_of(record)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError, OverflowError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("tool"), str) else None


def moment_of(record: dict[str, Any]) -> datetime:
    """When it was decided, in the local zone."""
    return datetime.fromisoformat(record["time"].replace("Z", "+00:00")).astimezone()


def parse_since(text: str, now: datetime | None = None) -> datetime:
    """`2h`, `3d`, `today`, or a date with or without a time, which is local unless it names a zone."""
    now = now or datetime.now(UTC).astimezone()
    if text == "today":
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if found := re.fullmatch(r"(\d{1,6})([smhdw])", text):
            return now - timedelta(seconds=int(found[1]) * UNITS[found[2]])
        return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time. Write 30m, 2h, 3d, today, or a date such as 2026-01-31") from None
