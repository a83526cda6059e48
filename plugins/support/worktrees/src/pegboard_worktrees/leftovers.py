"""Worktrees of a host that was killed: removed if nothing in them was touched, as their agent would have done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import anyio

from pegboard import Context, Services
from pegboard_hosts import DeadHost
from pegboard_processes.service import LocalProcesses
from pegboard_worktrees.git import Git
from pegboard_worktrees.worktrees import FOLDER, PREFIX, Worktree, remove_unchanged

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def remove(host: DeadHost, names: list[str]) -> None:
    """Remove the untouched worktrees that a dead host left."""
    for name in names:
        path, branch, base = map(str, json.loads(name))
        made = Worktree(Path(path), branch, base)
        folder = made.path.parent
        is_ours = folder.parts[-2:] == FOLDER.parts and branch == f"{PREFIX}{made.path.name}" and COMMIT.fullmatch(base)
        if is_ours and folder.is_dir() and not made.path.is_symlink():
            anyio.run(_remove, made)


async def _remove(made: Worktree) -> None:
    folder = made.path.parent
    git = Git(Context(folder, services=Services(processes=LocalProcesses())), folder)
    await git.silence_filters()
    if made.path.is_dir():
        await remove_unchanged(git, made)
    else:  # It was killed before it made more than the branch, which goes only if it has no commits of its own.
        await git.run("update-ref", "-d", f"refs/heads/{made.branch}", made.base)
