"""Which worktree a session is in, and where it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pegboard import Context, ToolError

SERVICE = "worktree"


class Stay:
    """A session's stay in a worktree; every change is one line of the transcript."""

    def __init__(self, keep: Callable[[dict[str, Any]], None]) -> None:
        self._keep = keep
        self.path: Path | None = None
        self.branch = ""
        self.base = ""
        """The commit that the worktree was made from; empty if it was there before."""
        self.came_from: Path | None = None

    def load(self, row: Mapping[str, Any]) -> None:
        """Go on after a resume."""
        self.path, self.came_from = Path(row["path"]), Path(row["came_from"])
        self.branch, self.base = str(row.get("branch", "")), str(row.get("base", ""))

    def begin(self, path: Path, branch: str, base: str, came_from: Path) -> None:
        """The session has entered a worktree."""
        self.path, self.branch, self.base, self.came_from = path, branch, base, came_from
        self._keep({"path": str(path), "branch": branch, "base": base, "came_from": str(came_from)})

    def end(self) -> None:
        """The session has left it."""
        self.path, self.came_from, self.branch, self.base = None, None, "", ""
        self._keep({"path": ""})


def stay_of(ctx: Context) -> Stay:
    """The stay of this session."""
    found = ctx.services.others.get(SERVICE)
    if not isinstance(found, Stay):
        raise ToolError("Only a session can enter a worktree, and this call is not part of one.", code="unsupported")
    return found
