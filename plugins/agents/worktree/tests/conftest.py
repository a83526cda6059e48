"""What the contract suite needs to know about worktrees: a repository, and a session that is in a worktree of it."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from pegboard import Context, Tool

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def repository(ctx: Context) -> dict[str, Any]:
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *words], cwd=ctx.cwd, env={**os.environ, **WHO}, check=True)
    return {"name": "work"}


async def inside(ctx: Context) -> dict[str, Any]:
    from pegboard_worktree.worktree_tools import EnterWorktree, EnterWorktreeInput  # Only these examples need them.

    if ctx.service("worktree").path is None:
        await EnterWorktree().call(EnterWorktreeInput(**repository(ctx)), ctx)
    return {"action": "keep"}


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    return {"EnterWorktree": [repository], "ExitWorktree": [inside]}.get(tool.name)
