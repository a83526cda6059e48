"""While a screen is open, what others write to standard error goes above the input line instead of into it."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable
from typing import Self


class StderrLines(io.TextIOBase):
    """In place of `sys.stderr`, also for handlers of the log that have taken it already."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._partial = show, ""

    def write(self, text: str) -> int:
        """Show each complete line."""
        *lines, self._partial = (self._partial + text).split("\n")
        for line in lines:
            self._show(line)
        return len(text)

    def isatty(self) -> bool:
        """What is written here is shown on a terminal."""
        return True

    def __enter__(self) -> Self:
        self._outside, sys.stderr = sys.stderr, self
        self._handlers = [
            handler
            for handler in (*logging.getLogger("pegboard").handlers, *logging.getLogger().handlers)
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._outside
        ]
        for handler in self._handlers:
            handler.setStream(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._partial:
            self.write("\n")
        sys.stderr = self._outside
        for handler in self._handlers:
            handler.setStream(self._outside)
