"""Worktrees that a hook makes in place of git: for another version control, or a checkout of its own kind."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from pegboard import Context, ToolError
from pegboard_session import announce
from pegboard_worktrees.git import Git
from pegboard_worktrees.worktrees import Worktree, folder_of, new_name, worktree


async def hooked_worktree(name: str, ctx: Context) -> Path | None:
    """The folder that a WorktreeCreate hook has made for this name; None where none is there. A failure is an error."""
    heard = await announce("WorktreeCreate", {"name": name}, ctx)
    if heard.block:
        raise ToolError(f"The worktree could not be created. {heard.block}", code="failed")
    if not (said := heard.answer.get("path")):
        return None
    path = ctx.resolve(str(said))
    if not path.is_dir():
        raise ToolError(f"The worktree could not be created: the hook names {path}, which is no folder.", code="failed")
    return _real(path)


@asynccontextmanager
async def isolated(ctx: Context, label: str, base: str, again: Path | None = None) -> AsyncIterator[Worktree]:
    """A worktree for an agent, made by a hook or else by git; WorktreeRemove is announced when it goes."""
    own = again is not None and again.parent == folder_of(_real(ctx.settings.root))
    path = await hooked_worktree(new_name(label), ctx) if again is None else (None if own else again)
    if path is None:
        async with worktree(ctx, label, base, again) as made:
            yield made
        if not made.kept:
            await announce("WorktreeRemove", {"worktree_path": str(made.path)}, ctx)
        return
    before = await _state(path, ctx)
    made = Worktree(path, "", "", kept=True)
    try:
        yield made
    finally:
        with anyio.CancelScope(shield=True):
            # Where git cannot tell what was done there, it stays: the work of an agent must not be lost.
            if before and again is None and await _state(path, ctx) == before:
                await announce("WorktreeRemove", {"worktree_path": str(path)}, ctx)
                made.kept = _is_there(path)


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


async def _state(path: Path, ctx: Context) -> tuple[str, str] | None:
    """What git sees in a folder that is the top of a checkout; None where it cannot tell."""
    git = Git(ctx, path)
    code, top, _ = await git.run("rev-parse", "--show-toplevel")
    if code != 0 or _real(top.strip()) != path:
        return None
    code, head, _ = await git.run("rev-parse", "--verify", "--quiet", "HEAD")
    looks = ("--untracked-files=all", "--ignored=matching", "--ignore-submodules=none")
    seen, changes, _ = await git.run("status", "--porcelain", *looks)
    return None if code != 0 or seen != 0 or changes.strip() else (head, changes)
