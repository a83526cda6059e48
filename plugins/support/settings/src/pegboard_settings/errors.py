"""The root of all errors of Pegboard, and the one about settings."""

from __future__ import annotations


class PegboardError(Exception):
    """The root of everything Pegboard raises on purpose."""


class SettingsError(PegboardError):
    """A settings file or variable cannot be used as it stands."""

    def __init__(self, message: str, *, source: str, line: int | None = None, column: int | None = None) -> None:
        place = source if line is None else f"{source}:{line}:{column}"
        super().__init__(f"{place}: {message}")
        self.source, self.line, self.column = source, line, column
