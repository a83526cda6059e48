"""Where a session runs: a part of the system prompt that stays as it is, and reminders of what changes later."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import Context
from pegboard.wording import on_one_line
from pegboard_prompt.git import branch_of, find_repository, has_changes

if TYPE_CHECKING:
    from pegboard_session import Session

LINE = "environment"
"""The kind of line in a transcript that says what the model was last told."""

CHANGES = {
    "date": "The date is now {}.",
    "mode": "The permission mode is now {}.",
    "branch": "The git branch is now {}.",
    "cwd": "The working directory is now {}.",
}
AT_ANY_MOMENT = ("date", "mode")
"""What is looked at between two requests too; the rest changes by what the model does itself, mostly."""


def today() -> str:
    """The date here, as 2026-11-17 (Tuesday)."""
    return time.strftime("%Y-%m-%d (%A)")


class Environment:
    """What one session has told its model about where it runs."""

    def __init__(self, session: Session, clock: Callable[[], str] = today) -> None:
        self._session, self._clock = session, clock
        lines = [line for line in session.restored.lines if line["type"] == LINE]
        told: dict[str, object] = lines[-1] if lines else {}
        self._told: dict[str, str] = {name: str(told[name]) for name in CHANGES if name in told}
        self._recorded: dict[str, str] = dict(self._told)

    async def text(self, ctx: Context) -> str:
        """The part of the system prompt. What a resumed session sends again is not told anew."""
        now = self._now(ctx, tuple(CHANGES))
        self._told = {**now, **self._told}
        rows = [f"Working directory: {now['cwd']}"]
        if ctx.roots:
            rows.append(f"Additional folders: {', '.join(on_one_line(str(root)) for root in ctx.roots)}")
        rows += [f"Platform: {_platform()}", f"Shell: {on_one_line(Path(os.environ.get('SHELL') or 'sh').name)}"]
        rows += [f"Date: {now['date']}", f"Git: {await self._git(ctx, now['branch'])}"]
        rows.append(f"Permission mode: {now['mode']}")
        return "Environment, when the session started\n" + "\n".join(f"- {row}" for row in rows)

    async def _git(self, ctx: Context, branch: str) -> str:
        found = find_repository(ctx.cwd)
        if not found:
            return "this is not a git repository"
        changed = await has_changes(found[0])
        state = {True: ", with uncommitted changes", False: ", no uncommitted changes", None: ""}[changed]
        return f"branch {branch or 'unknown'}{state}"

    def changes(self, moment: str) -> str:
        """What is different from what the model was last told; and note that it has been told."""
        names = tuple(CHANGES) if moment == "prompt" else AT_ANY_MOMENT
        now = self._now(self._session.ctx, names)
        words = [
            CHANGES[name].format(value or "unknown")
            for name, value in now.items()
            if self._told.get(name, value) != value
        ]
        self._told |= now
        if self._told != self._recorded:
            self._recorded = dict(self._told)
            self._session.write(LINE, **self._told)
        return "\n".join(words)

    def now(self) -> str:
        """All of it as it is now."""
        values = self._now(self._session.ctx, tuple(CHANGES))
        return "\n".join(CHANGES[name].format(value) for name, value in values.items() if value)

    def _now(self, ctx: Context, names: tuple[str, ...]) -> dict[str, str]:
        found = find_repository(ctx.cwd) if "branch" in names else None
        all_of_it: dict[str, Callable[[], str]] = {
            "date": self._clock,
            "mode": lambda: str(ctx.mode),
            "branch": lambda: branch_of(found[1]) if found else "",
            "cwd": lambda: on_one_line(str(ctx.cwd)),
        }
        return {name: all_of_it[name]() for name in names}


def _platform() -> str:
    system = os.uname()
    return f"{system.sysname} {system.release} ({system.machine})"
