"""Fields of an agent that may be wrong without the agent being lost: what they would choose, the parent's choice does.

Fields that limit an agent are not among them: guessing at those could give it more than its author meant.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pegboard_definitions import Markdown

EVERY_TOOL = ("*", "all", "all tools")
NO_ISOLATION = ("none", "false", "shared")


class SoftFields:
    """Reads such fields of one file, and remembers what was wrong."""

    def __init__(self, found: Markdown) -> None:
        self._found = found
        self.remarks: list[str] = []

    def choice(self, name: str, choices: Collection[str]) -> str:
        """One of a few words; empty for any other."""
        value = self._found.fields.get(name)
        if value is None or value == "" or value in choices:
            return value or ""
        self._say(name, f"{name} is one of {', '.join(choices)}, got {value!r}. It is ignored.")
        return ""

    def text(self, name: str) -> str:
        """Text; empty for anything else."""
        value = self._found.fields.get(name)
        if value is None or isinstance(value, str):
            return self._found.text(name)
        self._say(name, f"{name} is text, got {value!r}. It is ignored.")
        return ""

    def number(self, name: str) -> Any:
        """The value, and a whole number where it was written as text."""
        value = self._found.fields.get(name)
        return (
            int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 9 else value
        )

    def isolation(self) -> str:
        """`worktree`, or nothing where a file says in its own words that there is none."""
        value = self._found.fields.get("isolation")
        return "" if value is False or str(value).lower() in NO_ISOLATION else self._found.text("isolation")

    def tools(self) -> tuple[str, ...] | None:
        """The list of tools; None for all."""
        value = self._found.fields.get("tools")
        if "tools" in self._found.fields and value is None:
            self._say("tools", "tools is empty, so all are meant. For none, write [].")
            return None
        if isinstance(value, str) and value.strip().lower() in EVERY_TOOL:
            return None
        return self._found.names("tools")

    def _say(self, name: str, words: str) -> None:
        self.remarks.append(f"{self._found.place(name)}: {words}")
