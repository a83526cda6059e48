"""The plans of a session: where it came from when it began to plan, and what was approved."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pegboard import Context, ToolError

SERVICE, LINE = "plans", "plan"
"""The name of the service, and the type of our lines in the transcript."""
PLAN = "plan"
LONGEST = 20_000
"""How many characters of an approved plan follow a summary; a longer one is in its file."""

IN_PLAN_MODE = (
    "The mode is plan: nothing changes until the user has approved a plan. Read and search as much as you need, ask "
    "with AskUserQuestion where you must know something, then call ExitPlanMode with the plan."
)
LEFT = "The user has switched to the mode {mode}: you need no approved plan any more."


class Plans:
    """Every change is one line of the transcript."""

    def __init__(self, keep: Callable[[dict[str, Any]], None], folder: Path | None, mode: str = "default") -> None:
        self._keep, self._folder = keep, folder
        self.mode_before = "default" if mode == PLAN else mode
        """The mode to go back to."""
        self.approved = ""
        self.file = ""
        self._count = 0
        self._told = mode if mode != PLAN else ""
        """The mode that the model was last told about."""

    def load(self, row: Mapping[str, Any]) -> None:
        """Go on after a resume."""
        if row.get("state") == "entered":
            self.mode_before = str(row.get("mode_before", "default"))
        elif row.get("state") == "approved":
            self.approved, self.file = str(row.get("plan", "")), str(row.get("file", ""))
            self._count += 1

    def enter(self, mode: str) -> None:
        """The model begins to plan."""
        self.mode_before, self._told = mode, PLAN
        self._keep({"state": "entered", "mode_before": mode})

    def approve(self, plan: str, *, edited: bool, mode: str) -> str:
        """Keep what was approved, in the transcript and in a file. Returns the file; empty where there is none."""
        self._count += 1
        self.approved, self.file, self._told = plan, self._write(plan), mode
        self._keep({"state": "approved", "plan": plan, "edited": edited, "file": self.file, "mode": mode})
        return self.file

    def refuse(self, plan: str, said: str) -> None:
        """Keep what was refused, and why."""
        self._told = PLAN
        self._keep({"state": "refused", "plan": plan, "said": said})

    def _write(self, plan: str) -> str:
        """A file of its own for each plan: what was approved once is never written over."""
        if self._folder is None:
            return ""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            while True:
                path = self._folder / f"plan-{self._count}.md"
                try:
                    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
                    break
                except FileExistsError:  # A fork of the session wrote it.
                    self._count += 1
            with open(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(plan if plan.endswith("\n") else f"{plan}\n")
        except OSError:
            return ""  # The transcript has it too.
        return str(path)

    def news(self, mode: str) -> str | None:
        """What the model should know of the mode, if it was not told."""
        before, self._told = self._told, mode
        if mode == before or PLAN not in (mode, before):
            return None
        if mode == PLAN:
            self.mode_before = before or self.mode_before
            return IN_PLAN_MODE
        return LEFT.format(mode=mode)

    def after_summary(self, mode: str) -> str | None:
        """What has to be said again after a summary."""
        words = [IN_PLAN_MODE] if mode == PLAN else []
        if self.approved:
            rest = f"\n… (The whole plan is in {self.file}.)" if len(self.approved) > LONGEST else ""
            words.append(f"The plan that the user approved:\n{self.approved[:LONGEST]}{rest}")
        return "\n\n".join(words) or None


def plans_of(ctx: Context) -> Plans:
    """The plans of this session."""
    found = ctx.services.others.get(SERVICE)
    if not isinstance(found, Plans):
        raise ToolError("Plans belong to a session, and this call does not belong to one.", code="unsupported")
    return found
