"""The hooks: the tools, and where a session came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import Tool, hookimpl
from pegboard_worktree.stay import SERVICE, Stay

if TYPE_CHECKING:
    from pegboard_session import Session

LINE = "worktree"
"""The type of our lines in the transcript."""


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    # Every session loads these hooks, and few use the tools.
    from pegboard_worktree.worktree_tools import EnterWorktree, ExitWorktree

    return [EnterWorktree(), ExitWorktree()]


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    """Where the session is, also after a resume. Sub-agents have worktrees of their own."""
    if session.parent:
        return {}
    stay = Stay(lambda row: session.write(LINE, **row))
    kept = [line for line in session.restored.lines if line["type"] == LINE]
    if kept and _is_stay(kept[-1]):
        stay.load(kept[-1])
    return {SERVICE: stay}


def _is_stay(row: Mapping[str, Any]) -> bool:
    """Whether a line names a worktree that is still there, and where the session came from."""
    places = (row.get("path"), row.get("came_from"))
    if not all(isinstance(place, str) and place and "\0" not in place for place in places):
        return False
    return Path(str(row["path"])).is_dir()
