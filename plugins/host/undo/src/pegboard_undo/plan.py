"""What would be restored, and what stands against it."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from pegboard import PegboardError
from pegboard.wording import counted, shown
from pegboard_undo.checkpoint import file_digest
from pegboard_undo.journal import CHANGED, UNCOVERED, UNDONE

FIELDS: dict[str, dict[str, Any]] = {
    CHANGED: {"path": str, "turn": int, "before": str, "after": str, "stored": str | None, "mode": int},
    UNCOVERED: {"turn": int, "reason": str},
    UNDONE: {"to": int},
}
"""What a line of the journal has, by its kind."""
LARGEST_DIFF = 2_000_000
"""Bytes of a file above which its diff is not shown."""
MOST_LINES = 60
"""How many lines of a file's diff are shown."""


@dataclass(frozen=True, slots=True)
class Step:
    """One file, from how the session left it to how it was."""

    path: Path
    turn: int
    before: str
    after: str
    stored: Path | None
    mode: int
    is_broken: bool = False
    """Whether someone else changed the file between two changes of the session."""
    in_background: bool = False
    """Whether it was seen only when a command in the background had ended: others may have changed it meanwhile."""

    @property
    def action(self) -> str:
        """What undoing does, in a word."""
        if not self.before:
            return "remove"
        return "restore" if self.after else "create again"

    def objection(self) -> str:
        """Why the file cannot be restored, as part of a sentence; empty where it can."""
        if self.before and not (self.stored and self.stored.is_file()):
            return "its earlier content was not kept"
        # A copy has its digest as its name: another file that a journal names is not one.
        if self.stored and not (self.stored.name == self.before == file_digest(self.stored)):
            return "the copy of its earlier content is damaged"
        if os.path.realpath(self.path) != str(self.path) and not self.path.is_symlink():
            return "a folder on the way to it has become a link"
        if self.is_broken:
            return "something else changed it between two turns"
        if file_digest(self.path) != self.after:
            return "it was changed since"
        return ""

    def earlier_bytes(self) -> bytes:
        """The content to restore."""
        return self.stored.read_bytes() if self.stored else b""

    def diff(self) -> str:
        """What restoring changes."""
        try:
            if self.after and self.path.stat().st_size > LARGEST_DIFF:
                return "(large)"
            now = self.path.read_bytes() if self.after else b""
        except OSError:
            now = b""
        old = self.earlier_bytes()
        if b"\0" in now + old:
            return "(binary)"
        now_lines, old_lines = (data.decode("utf-8", "replace").splitlines() for data in (now, old))
        lines = list(difflib.unified_diff(now_lines, old_lines, "now", "restored", lineterm="", n=2))
        more = [f"({counted(len(lines) - MOST_LINES, 'more line')})"] if len(lines) > MOST_LINES else []
        return "\n".join([*lines[:MOST_LINES], *more])


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything back to how it was before a turn."""

    to: int
    steps: tuple[Step, ...] = ()
    uncovered: tuple[dict[str, Any], ...] = ()
    refused: dict[Path, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        files = [
            {"path": str(step.path), "action": step.action, "turn": step.turn, "diff": self._diff_of(step)}
            for step in self.steps
        ]
        refused = [{"path": str(path), "reason": reason} for path, reason in self.refused.items()]
        return {"to": self.to, "files": files, "refused": refused, "uncovered": list(self.uncovered)}

    def _diff_of(self, step: Step) -> str:
        """Of a file that is refused nothing is read: anything may have taken its place."""
        return "" if step.path in self.refused else step.diff()


def make_plan(lines: Iterable[dict[str, Any]], to: int | None = None) -> Plan:
    """The plan for all turns from `to` on, by default for the last one that changed files."""
    changes: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    for line in lines:
        _require(line)
        if line["type"] == CHANGED:
            changes.append(line)
        elif line["type"] == UNCOVERED:
            gap = {"turn": line["turn"], "reason": line["reason"]}
            gaps += [gap] if gap not in gaps else []
        elif line["type"] == UNDONE:
            changes = [change for change in changes if change["turn"] < line["to"]]
            gaps = [gap for gap in gaps if gap["turn"] < line["to"]]
    last = max((change["turn"] for change in changes), default=0)
    if to is not None and to < 1:
        raise PegboardError(f"--to must be the number of a turn, 1 or more, got {to}.")
    start = last if to is None else to
    wanted = [change for change in changes if change["turn"] >= start]
    steps = tuple(step for group in _by_path(wanted) if (step := _step(group)).before != step.after)
    refused = {step.path: reason for step in steps if (reason := step.objection())}
    return Plan(start, steps, tuple(gap for gap in gaps if gap["turn"] >= start), refused)


def _require(line: dict[str, Any]) -> None:
    """Raise unless a line of the journal has what its kind needs: the file may have been damaged or edited."""
    for name, kind in FIELDS.get(line["type"], {}).items():
        value = line.get(name)
        if not isinstance(value, kind) or (name == "path" and not (os.path.isabs(value) and "\0" not in value)):
            what = f"a line of the type {line['type']} has {shown(value)} as its {name}"
            raise PegboardError(f"Nothing was restored. The transcript of this session is damaged: {what}.")


def _by_path(changes: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for change in changes:
        groups.setdefault(os.fspath(change["path"]), []).append(change)
    return list(groups.values())


def _step(group: Sequence[dict[str, Any]]) -> Step:
    first, last = group[0], group[-1]
    broken = any(one["after"] != other["before"] for one, other in pairwise(group))
    stored = Path(first["stored"]) if first.get("stored") else None
    behind = any(one.get("by") == "background" for one in group)
    about = (first["turn"], first["before"], last["after"], stored, first["mode"])
    return Step(Path(first["path"]), *about, broken, behind)


def as_text(plan: Plan, *, diffs: bool = True) -> str:
    """The plan for a person."""
    lines: list[str] = []
    for step in plan.steps:
        refusal = f"  ({plan.refused[step.path]})" if step.path in plan.refused else ""
        behind = "  (changed while a command ran in the background)" if step.in_background else ""
        lines.append(f"{step.action} {step.path}{refusal or behind}")
        if diffs and not refusal:
            lines += [f"  {line}" for line in step.diff().splitlines()]
    lines += [f"not covered, turn {gap['turn']}: a command, because {gap['reason']}" for gap in plan.uncovered]
    return "\n".join(lines)


def refusal_of(plan: Plan) -> str:
    """Why nothing is restored; empty where nothing stands against it."""
    if not plan.refused:
        return ""
    listed = "; ".join(f"{path}: {reason}" for path, reason in plan.refused.items())
    return f"Nothing was restored. {listed}. Save what you need of these files and restore them yourself."
