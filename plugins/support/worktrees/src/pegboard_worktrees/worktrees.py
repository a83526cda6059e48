"""A separate git worktree for an agent: on a new branch, removed only if nothing in it was changed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from pegboard import Context, ToolError
from pegboard_hosts import Note, note
from pegboard_worktrees.git import Git

FOLDER = Path(".pegboard", "worktrees")
PREFIX = "pegboard/"
TRIES = 5
PATIENCE = 30.0
"""Seconds to wait for others that create a worktree; after that, only git's own locks apply."""


@dataclass(slots=True)
class Worktree:
    """A checkout and its branch."""

    path: Path
    branch: str
    base: str
    """The commit that it was made from; empty if that was another run's doing."""
    kept: bool = False
    """Whether it is still there, because something in it changed."""
    note: Note | None = field(default=None, repr=False, compare=False)
    """Tells the next host to look at it, should this one be killed."""


@asynccontextmanager
async def worktree(ctx: Context, label: str, base: str, again: Path | None = None) -> AsyncIterator[Worktree]:
    """A worktree of the repository around `ctx.cwd`. Cancelling does not leave half of one behind.

    It starts at the `base`: `default-branch` or `head`. `again` is the one that the agent had before: it is used as it
    is, or made anew in its place if it was removed.
    """
    with anyio.CancelScope(shield=True):  # Bounded: every git command has a time limit.
        git, made = await _make(ctx, label, base, again)
    try:
        yield made
    finally:
        with anyio.CancelScope(shield=True):
            made.kept = not await remove_unchanged(git, made)
            if made.note:
                made.note.done()


async def _make(ctx: Context, label: str, base: str, again: Path | None) -> tuple[Git, Worktree]:
    git = Git(ctx, ctx.cwd)
    code, common, _ = await git.run("rev-parse", "--path-format=absolute", "--git-common-dir")
    if code != 0:
        raise ToolError(f"isolation=worktree needs a git repository, but {ctx.cwd} is not in one.", code="unsupported")
    root = _real(ctx.settings.root)
    folder, store = made_folder(folder_of(root)), Path(common.strip("\n"))
    git = Git(ctx, ctx.cwd, (root, folder, store), (folder, store / "worktrees"))
    if not ctx.settings.trusted:
        await git.silence_filters()
    if again is None:
        return git, await _add(git, folder, label, base)
    if again.parent != folder or _is_link(again):
        raise ToolError(f"{again} is not a worktree of this project. Start a new agent.", code="unsupported")
    return git, await _add_again(git, again, base)


async def _add(git: Git, folder: Path, label: str, wanted: str) -> Worktree:
    base = await base_commit(git, wanted)
    async with alone(folder / ".lock"):
        for attempt in range(TRIES):
            name = new_name(label)
            made = Worktree(folder / name, f"{PREFIX}{name}", base)
            made.note = note_worktree(made)
            code, _, errors = await git.run("worktree", "add", "--no-track", "-b", made.branch, str(made.path), base)
            if code == 0:
                return made
            made.note.done()
            await git.run("update-ref", "-d", f"refs/heads/{made.branch}", base)
            await anyio.sleep(0.05 * 2**attempt)
    raise _failure(errors)


def new_name(label: str) -> str:
    """A name for a worktree that no other has."""
    slug = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40] or "agent"
    return f"{slug}-{secrets.token_hex(3)}"


async def _add_again(git: Git, path: Path, wanted: str) -> Worktree:
    """The worktree that an agent had before, as it is; or made anew, on its old branch if that was kept."""
    if path.is_dir():  # noqa: ASYNC240 One look at a folder, between commands that take longer.
        _, branch, _ = await git.at(path).run("symbolic-ref", "--quiet", "--short", "HEAD")
        return Worktree(path, branch.strip() or "(detached)", "")
    branch = f"{PREFIX}{path.name}"
    known, _, _ = await git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    made = Worktree(path, branch, "" if known == 0 else await base_commit(git, wanted))
    words = ("--no-track", "-b", branch, str(path), made.base) if made.base else (str(path), branch)
    async with alone(path.parent / ".lock"):
        code, _, errors = await git.run("worktree", "add", *words)
    if code != 0:
        raise _failure(errors)
    return made


def note_worktree(made: Worktree) -> Note:
    """Record a worktree before it is created."""
    return note("worktree", json.dumps([str(made.path), made.branch, made.base]))


def _failure(errors: str) -> ToolError:
    reason = errors.splitlines()[-1] if errors else "git gave no reason."
    return ToolError(f"A worktree could not be created: {reason}", code="failed")


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _is_link(path: Path) -> bool:
    return path.is_symlink()


def folder_of(root: Path) -> Path:
    """Where the worktrees of a project are; those of agents in a worktree are next to it, not inside it."""
    return root.parent if root.parent.parts[-2:] == FOLDER.parts else root / FOLDER


def made_folder(folder: Path) -> Path:
    """The folder, which ignores itself; a link in its place would lead out of the project."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.path.realpath(folder) != str(folder):
        reason = f"{folder} is a symbolic link. Worktrees are created only inside the project."
        raise ToolError(reason, code="unsupported")
    with suppress(FileExistsError):  # Whatever is there already, a link from a repository too, is not written to.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(folder / ".gitignore", flags, 0o644), "w") as ignore:
            ignore.write("*\n")
    return folder


async def base_commit(git: Git, wanted: str) -> str:
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
async def alone(path: Path) -> AsyncIterator[None]:
    """Keep other agents and processes from making a worktree at the same moment; the system frees it with us."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ToolError(f"A worktree could not be created: {path}: {error.strerror}.", code="failed") from None
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


async def remove_unchanged(git: Git, made: Worktree) -> bool:
    """Remove the worktree and its branch if nothing changed in them; in any doubt, keep them."""
    if not made.path.is_dir() or not await _is_untouched(git.at(made.path), made):
        return False
    async with alone(made.path.parent / ".lock"):
        code, _, _ = await git.run("worktree", "remove", str(made.path))  # Without --force, git checks again.
        if code != 0:
            return False
        await git.run("update-ref", "-d", f"refs/heads/{made.branch}", made.base)
    return True


async def _is_untouched(here: Git, made: Worktree) -> bool:
    """Whether everything in a worktree is as it was when it was made."""
    # Ignored files count: an agent's output may be ignored by git and still be wanted.
    looks = ("--untracked-files=all", "--ignored=matching", "--ignore-submodules=none")
    code, changes, _ = await here.run("status", "--porcelain", *looks)
    if code != 0 or changes.strip():
        return False
    for name in ("HEAD", f"refs/heads/{made.branch}"):
        code, commit, _ = await here.run("rev-parse", "--verify", "--quiet", name)
        if code != 0 or commit.strip() != made.base:
            return False
    # Commits on no branch are known only to the reflog of this worktree's HEAD.
    code, moves, _ = await here.run("reflog", "show", "--format=%H", "HEAD")
    if code != 0 or set(moves.split()) - {made.base}:
        return False
    # Files that git was told not to look at would be deleted unseen.
    code, files, _ = await here.run("ls-files", "-v", "-z")
    hidden = [entry for entry in files.split("\0") if entry and entry[0] != "H"]
    return code == 0 and not any(entry[0].islower() or (made.path / entry[2:]).exists() for entry in hidden)
