"""The status line: model, mode, how full the window is, tokens and cost, and what runs in the background."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pegboard.wording import counted
from pegboard_terminal.pen import harmless

if TYPE_CHECKING:
    from pegboard_session import Session


class Status:
    """What is known since the last answer; counting the window takes too long for every frame."""

    def __init__(self) -> None:
        self._window = ""

    def count(self, session: Session) -> None:
        """Count again."""
        use = session.compaction.use
        self._window = f"{use.percent} % of {short(use.window)}" if use.window else f"{short(use.tokens)} in use"

    def parts(self, session: Session, hint: str) -> list[str]:
        """The parts, the most important first."""
        usage = session.usage
        parts = [hint] if hint else []
        parts += [session.current.mode, self._window, f"{short(usage.total_tokens)} tokens"]
        if usage.priced:
            parts.append(f"{usage.cost:.4f}" + ("+" if usage.priced < usage.requests else ""))
        if running := background(session):
            parts.append(counted(running, "background task"))
        return [*filter(None, parts), session.model, folder_name(str(session.current.cwd))]

    def line(self, session: Session, hint: str, width: int) -> str:
        """As many parts as there is room for."""
        line = ""
        for part in map(_one_line, self.parts(session, hint)):
            longer = f"{line} · {part}" if line else part
            if len(longer) > width:
                break
            line = longer
        return line[:width]


def _one_line(part: str) -> str:
    """A folder may have any name; it must not steer the terminal."""
    return harmless(part).replace("\n", " ").replace("\t", " ")


def background(session: Session) -> int:
    """How many pieces of work run in the background."""
    service = session.ctx.services.background
    return sum(task.state == "running" for task in service.tasks()) if service else 0


def short(number: int | None) -> str:
    """`1.2k` for 1234."""
    if number is None:
        return "?"
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 100_000 else f"{number // 1_000}k"


def folder_name(path: str) -> str:
    """A folder as a person writes it."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
