"""What the core logs, for people: a line without its traceback, which only --debug shows."""

from __future__ import annotations

import logging

from pegboard_cli.output import visible


class _Short(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        said = record.getMessage() if error is None else f"{record.getMessage()}: {type(error).__name__}: {error}"
        return visible(f"pegboard: {said}")


def keep_short() -> None:
    """Send the log to standard error, one line per record."""
    log = logging.getLogger("pegboard")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING)
        handler.setFormatter(_Short())
        log.addHandler(handler)
