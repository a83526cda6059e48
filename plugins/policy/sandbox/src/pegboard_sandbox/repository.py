"""Which parts of a git repository a process may change, so that it can commit and yet plant nothing that git runs.

Git runs programs that hooks and configuration name, and finds both through a few files. Those are held, also where they
are missing. Everything else in the repository is data: objects, references, the index, logs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

FOLDERS = ("hooks", "modules", "worktrees")
"""Held in a repository: hooks, and the repositories of submodules and worktrees."""

FILES = {"config": "", "config.worktree": "", "commondir": ".\n"}
"""Held too, with what they may say when they are missing: a `commondir` of `.` is the repository itself."""

INFO, FILES_IN_INFO = "info", ("attributes", "exclude")
"""What selects programs for files, and what hides files from those who look for them."""

FILES_OF_WORKTREE = {"commondir": "../..\n", "gitdir": "", "config.worktree": ""}
OF_THE_MAIN_WORKTREE = ("HEAD", "index")
LONGEST = 8_192


@dataclass(frozen=True, slots=True)
class Linked:
    """A worktree that belongs to a repository elsewhere."""

    folder: str
    """Where the repository keeps what belongs to this worktree alone: its index, its HEAD."""
    repository: str


def opens(root: str) -> bool:
    """Whether `.git` in this folder is something whose parts can be opened."""
    path = f"{root}/.git"
    return not os.path.islink(path) and (bool(os.listdir(path)) if os.path.isdir(path) else os.path.isfile(path))


def is_bare(folder: str) -> bool:
    """Whether git would take the folder itself for a repository."""
    return os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs")


def linked(root: str) -> Linked | None:
    """The repository of a worktree, when both point at each other: a single file could name any folder."""
    said = _line(f"{root}/.git")
    if not said.startswith("gitdir:"):
        return None
    folder = os.path.realpath(os.path.join(root, said.removeprefix("gitdir:").strip()))
    parent = os.path.dirname(folder)
    repository = os.path.dirname(parent)
    back = _line(f"{folder}/gitdir")
    common = os.path.realpath(os.path.join(folder, _line(f"{folder}/commondir") or "/"))
    if os.path.basename(parent) != "worktrees" or common != repository or not is_bare(repository):
        return None
    if not back or os.path.realpath(os.path.join(folder, back)) != os.path.join(root, ".git"):
        return None
    return Linked(folder, repository)


def _line(path: str) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(handle, LONGEST)).rstrip("\n")
    except OSError:
        return ""
    finally:
        os.close(handle)
