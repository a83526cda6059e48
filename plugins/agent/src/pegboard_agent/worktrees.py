"""A checkout of its own for an agent: made on a new branch, removed only if nothing in it was touched."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from pegboard import Context, ToolError
from pegboard_agent.git import Git

FOLDER = Path(".pegboard", "worktrees")
TRIES = 5
PATIENCE = 30.0
"""Seconds to wait for others who make a worktree; git's own locks hold after that."""


@dataclass(slots=True)
class Worktree:
    """A checkout and its branch."""

    path: Path
    branch: str
    base: str
    kept: bool = False
    """Whether it is still there, because something in it changed."""


@asynccontextmanager
async def worktree(ctx: Context, label: str) -> AsyncIterator[Worktree]:
    """A worktree of the repository around `ctx.cwd`. Cancelling does not leave half of one behind."""
    with anyio.CancelScope(shield=True):  # Bounded: every git command has a time limit.
        git, made = await _make(ctx, label)
    try:
        yield made
    finally:
        with anyio.CancelScope(shield=True):
            made.kept = not await _remove_unchanged(git, made)


async def _make(ctx: Context, label: str) -> tuple[Git, Worktree]:
    git = Git(ctx, ctx.cwd)
    code, common, _ = await git.run("rev-parse", "--path-format=absolute", "--git-common-dir")
    if code != 0:
        raise ToolError(f"isolation=worktree needs a git repository, and {ctx.cwd} is in none.", code="unsupported")
    root = _real(ctx.settings.root)
    git = Git(ctx, ctx.cwd, (root,), (root / FOLDER, Path(common.strip("\n"), "worktrees")))
    if not ctx.settings.trusted:
        await git.silence_filters()
    folder, base = _folder(root), await _base(git, ctx.settings.get("agents.worktreeBase", "default-branch"))
    slug = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40] or "agent"
    async with _alone(folder / ".lock"):
        for attempt in range(TRIES):
            name = f"{slug}-{secrets.token_hex(3)}"
            made = Worktree(folder / name, f"pegboard/{name}", base)
            code, _, errors = await git.run("worktree", "add", "--no-track", "-b", made.branch, str(made.path), base)
            if code == 0:
                return git, made
            await git.run("update-ref", "-d", f"refs/heads/{made.branch}", base)
            await anyio.sleep(0.05 * 2**attempt)
    raise ToolError(f"A worktree could not be made: {errors.splitlines()[-1] if errors else code}", code="internal")


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _folder(root: Path) -> Path:
    """The folder for worktrees, which ignores itself; a link in its place would lead out of the project."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if os.path.realpath(folder) != str(folder):
        raise ToolError(f"{folder} leads to another place. Worktrees are made in the project only.", code="unsupported")
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return folder


async def _base(git: Git, wanted: str) -> str:
    """The commit to start from: the default branch if it can be told and is wanted, else HEAD."""
    names = []
    if wanted == "default-branch":
        code, remote, _ = await git.run("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        if code == 0:
            remote = remote.strip()
            names = [f"refs/heads/{remote.removeprefix('refs/remotes/origin/')}", remote]
        names += ["refs/heads/main", "refs/heads/master"]
    for name in (*names, "HEAD"):
        code, commit, _ = await git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if code == 0:
            return commit.strip()
    raise ToolError("isolation=worktree needs a repository with at least one commit.", code="unsupported")


@asynccontextmanager
async def _alone(path: Path) -> AsyncIterator[None]:
    """Keep other agents and processes from making a worktree at the same moment; the system frees it with us."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with anyio.move_on_after(PATIENCE):
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await anyio.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


async def _remove_unchanged(git: Git, made: Worktree) -> bool:
    """Take the worktree and its branch away if there is nothing in them; in any doubt they stay."""
    here = git.at(made.path)
    if not made.path.is_dir():
        return False
    # Ignored files count: what an agent made may be ignored and still be wanted.
    code, changes, _ = await here.run("status", "--porcelain", "--untracked-files=all", "--ignored=matching")
    if code != 0 or changes.strip():
        return False
    code, head, _ = await here.run("rev-parse", "--verify", "HEAD")
    if code != 0 or head.strip() != made.base:
        return False
    async with _alone(made.path.parent / ".lock"):
        code, _, _ = await git.run("worktree", "remove", str(made.path))  # Without --force it looks once more itself.
        if code != 0:
            return False
        await git.run("update-ref", "-d", f"refs/heads/{made.branch}", made.base)
    return True
