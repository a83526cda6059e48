"""Git worktrees: made, found again, and removed only if nothing is lost."""

from pegboard_worktrees.git import Git
from pegboard_worktrees.hooked import hooked_worktree, isolated
from pegboard_worktrees.worktrees import (
    FOLDER,
    PREFIX,
    Worktree,
    alone,
    base_commit,
    folder_of,
    made_folder,
    note_worktree,
    remove_unchanged,
    worktree,
)

__all__ = [
    "FOLDER",
    "PREFIX",
    "Git",
    "Worktree",
    "alone",
    "base_commit",
    "folder_of",
    "hooked_worktree",
    "isolated",
    "made_folder",
    "note_worktree",
    "remove_unchanged",
    "worktree",
]
