"""The worktrees of the repository that a session works in."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from pegboard import Context, ToolError
from pegboard.wording import counted
from pegboard_worktrees import PREFIX, Git, Worktree, alone, base_commit, folder_of, made_folder

LEFT = re.compile(r"checkout: moving from ([0-9a-f]{40}|[0-9a-f]{64}) to ")


@dataclass(frozen=True, slots=True)
class Losses:
    """What would be lost with a worktree."""

    files: int = 0
    commits: int = 0

    def __bool__(self) -> bool:
        return bool(self.files or self.commits)

    def __str__(self) -> str:
        said = [counted(self.files, "changed file")] if self.files else []
        said += [f"{counted(self.commits, 'commit')} on no other branch"] if self.commits else []
        return " and ".join(said)


class Repository:
    """The repository around a folder, through git that runs nothing of the repository's own."""

    def __init__(self, git: Git, folder: Path, wanted: str) -> None:
        self._git, self._folder, self._wanted = git, folder, wanted

    @classmethod
    async def around(cls, ctx: Context) -> Repository:
        """The repository around the project; a `ToolError` where there is none."""
        root = _real(ctx.settings.root)
        code, common, _ = await Git(ctx, root).run("rev-parse", "--path-format=absolute", "--git-common-dir")
        if code != 0:
            raise ToolError(f"A worktree needs a git repository, but {root} is not in one.", code="unsupported")
        folder, store = made_folder(folder_of(root)), Path(common.strip("\n"))
        git = Git(ctx, root, (root, folder, store), (folder, store / "worktrees"))
        if not ctx.settings.trusted:
            await git.silence_filters()
        return cls(git, folder, ctx.settings.get("worktree.base"))

    async def named(self, name: str | None) -> tuple[Worktree, bool]:
        """The worktree of this name, and whether it is new."""
        name = name or f"work-{secrets.token_hex(3)}"
        path, branch = self._folder / name, f"{PREFIX}{name}"
        if _exists(path):
            return await self.known(path), False
        code, _, _ = await self._git.run("check-ref-format", "--branch", branch)
        if code != 0:
            raise ToolError(f"{name!r} cannot be the name of a branch. Choose another name.")
        has_branch, _, _ = await self._git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        base = "" if has_branch == 0 else await base_commit(self._git, self._wanted)
        words = ("--no-track", "-b", branch, str(path), base) if base else (str(path), branch)
        async with alone(self._folder / ".lock"):
            code, _, errors = await self._git.run("worktree", "add", *words)
        if code != 0:
            reason = errors.splitlines()[-1] if errors else "git gave no reason."
            raise ToolError(f"The worktree could not be created: {reason}", code="failed")
        return Worktree(path, branch, base), True

    async def known(self, path: Path) -> Worktree:
        """The worktree of this repository that is there."""
        real = _real(path)
        _, listed, _ = await self._git.run("worktree", "list", "--porcelain", "-z")
        rows = [block.split("\0") for block in listed.split("\0\0")]
        paths = [row[0].removeprefix("worktree ") for row in rows if row[0].startswith("worktree ")]
        if real not in map(_real, paths[1:]):
            others = ", ".join(paths[1:]) or "none"
            raise ToolError(f"{path} is not a worktree of this repository. Its worktrees: {others}.", code="not_found")
        _, branch, _ = await self._git.at(real).run("symbolic-ref", "--quiet", "--short", "HEAD")
        return Worktree(real, branch.strip() or "(detached)", "")

    async def losses(self, path: Path, branch: str) -> Losses:
        """What is in a worktree and nowhere else.

        A file that git ignores counts, because a `.env` cannot be made again. An ignored folder does not: it holds
        packages, builds and caches, and would make almost every removal a question.
        """
        here = self._git.at(path)
        looks = ("--untracked-files=all", "--ignored=matching", "--ignore-submodules=none", "--no-renames")
        code, changes, errors = await here.run("status", "--porcelain", "-z", *looks)
        if code != 0:
            raise ToolError(
                f"Git cannot tell what has changed in {path}: {errors}. Nothing was removed.", code="failed"
            )
        hidden = await here.run("ls-files", "-v", "-z")
        # Files that git was told not to look at would be deleted unseen. A sparse checkout marks those that it has not.
        rows = [row for row in hidden[1].split("\0") if row and row[0] != "H"]
        unseen = [row for row in rows if row[0] != "S" or _exists(path / row[2:])]
        # Only our own branches are removed. Git wants the name here without `refs/heads/`.
        own = [f"--exclude={branch}"] if branch.startswith(PREFIX) else []
        exists, _, _ = await here.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        going = ["HEAD", *([f"refs/heads/{branch}"] if own and exists == 0 else []), *await _left_behind(here)]
        others = ["--not", *own, "--branches", "--remotes", "--tags"]
        code, count, errors = await here.run("rev-list", "--count", *going, *others)
        if code != 0:
            raise ToolError(f"Git cannot tell which commits are only in {path}: {errors}.", code="failed")
        return Losses(len([row for row in changes.split("\0") if _is_work(row)]) + len(unseen), int(count))

    async def remove(self, path: Path, branch: str, *, force: bool) -> None:
        """Remove a worktree, and its branch if it is one of ours."""
        async with alone(self._folder / ".lock"):
            words = ("--force",) if force else ()
            code, _, errors = await self._git.run("worktree", "remove", *words, str(path))
            if code != 0:
                raise ToolError(f"The worktree could not be removed: {errors}", code="failed")
            if branch.startswith(PREFIX):
                await self._git.run("branch", "-D", "--", branch)


def _is_work(row: str) -> bool:
    """Whether a row of `git status` is something that cannot be made again."""
    return bool(row) and not (row.startswith("!! ") and row.endswith(("/", ".pyc")))


async def _left_behind(here: Git) -> list[str]:
    """The commits that were checked out without a branch and left: only the log of this worktree still knows them."""
    code, moves, errors = await here.run("reflog", "show", "--format=%gs", "HEAD")
    if code != 0:
        raise ToolError(f"Git cannot tell which commits were made there: {errors}. Nothing was removed.", code="failed")
    left = {found[1] for line in moves.splitlines() if (found := LEFT.match(line))}
    # A commit that is no longer there cannot be lost any more, and rev-list would fail.
    return [name for name in sorted(left) if (await here.run("cat-file", "-e", f"{name}^{{commit}}"))[0] == 0]


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


def _exists(path: Path) -> bool:
    return os.path.lexists(path)
