"""Enter a worktree, and leave it."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Literal

import anyio
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from pegboard import Change, Context, Facts, Input, Output, Tool, ToolError
from pegboard.wording import counted
from pegboard_session import announce
from pegboard_worktree.repository import Losses, Repository
from pegboard_worktree.stay import SERVICE, Stay, stay_of
from pegboard_worktrees import Worktree, folder_of, hooked_worktree

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Record(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class EnterWorktreeInput(Input):
    name: str | None = None
    """The name of a worktree of this project. An existing one is reused; otherwise it is created."""
    path: Path | None = None
    """Instead of a name: the path of an existing worktree of this repository."""


class Entered(Record):
    worktree_path: str
    worktree_branch: str
    original_cwd: str
    is_new: bool


class EnterWorktree(Tool[EnterWorktreeInput, Entered]):
    """Work in a separate git worktree from now on: the working directory of this session changes.

    Use it only when the user asks for a worktree. Leave it with ExitWorktree.
    """

    subagents = False
    search_hint = "git worktree branch isolated checkout"

    def validate_input(self, args: EnterWorktreeInput, /) -> str | None:
        if args.name is not None and args.path is not None:
            return "give either name or path, not both."
        if args.name is not None and (not NAME.fullmatch(args.name) or ".." in args.name):
            return "name may contain only letters, digits, dots, dashes and underscores, at most 64 of them."
        return None

    def facts(self, args: EnterWorktreeInput, ctx: Context, /) -> Facts:
        place = ctx.resolve(args.path) if args.path else folder_of(_root(ctx)) / (args.name or "new")
        # Open: git writes into the repository as well.
        return Facts(writes=(place,), reason="EnterWorktree changes the working directory.")

    async def call(self, args: EnterWorktreeInput, ctx: Context, /) -> Output[Entered]:
        stay = stay_of(ctx)
        if stay.path is not None:
            raise ToolError(f"This session is already in the worktree {stay.path}. Use ExitWorktree first.")
        made, is_new = await _found(args.path, ctx) if args.path else await _made(args.name, ctx)
        stay.begin(made.path, made.branch, made.base, ctx.cwd)
        value = Entered(
            worktree_path=str(made.path), worktree_branch=made.branch, original_cwd=str(ctx.cwd), is_new=is_new
        )
        return Output(value, change=Change(cwd=made.path))

    def content(self, value: Entered, /) -> str:
        verb, branch = "Created" if value.is_new else "Entered", value.worktree_branch
        on = f" on {branch}" if branch else ""
        return f"{verb} the worktree {value.worktree_path}{on}. It is the working directory now."

    def describe(self, args: EnterWorktreeInput, /) -> str:
        return f"Enter the worktree {args.path or args.name or 'with a new name'}"


class ExitWorktreeInput(Input):
    action: Literal["keep", "remove"]
    """keep: leave the worktree and its branch as they are. remove: delete both."""
    discard_changes: bool = False
    """Remove it even if it has changes or commits that exist nowhere else. They are lost."""


class Exited(Record):
    action: Literal["keep", "remove"]
    original_cwd: str
    worktree_path: str
    worktree_branch: str
    discarded_files: int = 0
    discarded_commits: int = 0


class ExitWorktree(Tool[ExitWorktreeInput, Exited]):
    """Leave the worktree of this session and go back to where it came from."""

    subagents = False
    search_hint = "leave git worktree remove keep"

    def facts(self, args: ExitWorktreeInput, ctx: Context, /) -> Facts:
        if args.action == "keep":
            return Facts(read_only=True, open_world=False)
        stay = ctx.services.others.get(SERVICE)
        gone = (stay.path,) if isinstance(stay, Stay) and stay.path else ()
        return Facts(deletes=gone, destructive=args.discard_changes)

    async def call(self, args: ExitWorktreeInput, ctx: Context, /) -> Output[Exited]:
        stay = stay_of(ctx)
        if stay.path is None or stay.came_from is None:
            raise ToolError("This session is not in a worktree. Use EnterWorktree first.")
        back, value = (
            stay.came_from,
            Exited(
                action=args.action,
                original_cwd=str(stay.came_from),
                worktree_path=str(stay.path),
                worktree_branch=stay.branch,
            ),
        )
        if args.action == "remove":
            losses = await _remove(stay.path, stay.branch, args.discard_changes, ctx)
            value.discarded_files, value.discarded_commits = losses.files, losses.commits
        stay.end()
        return Output(value, change=Change(cwd=back if back.is_dir() else _root(ctx)))

    def content(self, value: Exited, /) -> str:
        back = f"The working directory is {value.original_cwd} again."
        if value.action == "keep":
            stays = f", which stays on {value.worktree_branch}" if value.worktree_branch else ", which stays"
            return f"Left the worktree {value.worktree_path}{stays}. {back}"
        lost = []
        if value.discarded_files:
            lost.append(counted(value.discarded_files, "changed file"))
        if value.discarded_commits:
            lost.append(counted(value.discarded_commits, "commit"))
        gone = f" Discarded: {' and '.join(lost)}." if lost else ""
        branch = f" and its branch {value.worktree_branch}" if value.worktree_branch else ""
        return f"Removed the worktree {value.worktree_path}{branch}.{gone} {back}"

    def describe(self, args: ExitWorktreeInput, /) -> str:
        if args.action == "keep":
            return "Leave the worktree and keep it"
        return "Remove the worktree" + (" and discard its changes" if args.discard_changes else "")


async def _found(path: Path, ctx: Context) -> tuple[Worktree, bool]:
    with anyio.CancelScope(shield=True):  # Bounded: every git command has a time limit.
        found = await (await Repository.around(ctx)).known(ctx.resolve(path))
    return found, False


async def _made(name: str | None, ctx: Context) -> tuple[Worktree, bool]:
    """The worktree with this name, or a new one: made by whoever answers WorktreeCreate, else by git."""
    name = name or f"work-{secrets.token_hex(3)}"
    if not _is_there(folder_of(_root(ctx)) / name) and (path := await hooked_worktree(name, ctx)):
        return Worktree(path, "", ""), True
    with anyio.CancelScope(shield=True):
        made, is_new = await (await Repository.around(ctx)).named(name)
    return made, is_new


async def _remove(path: Path, branch: str, discard: bool, ctx: Context) -> Losses:
    if not branch:
        return await _remove_hooked(path, discard, ctx)
    with anyio.CancelScope(shield=True):
        repository = await Repository.around(ctx)
        losses = await repository.losses(path, branch)
        if losses and not discard:
            reason = f"The worktree {path} has {losses}. Nothing was removed."
            raise ToolError(f"{reason} Commit and merge them, use action=keep, or set discard_changes.")
    await announce("WorktreeRemove", {"worktree_path": str(path)}, ctx)
    with anyio.CancelScope(shield=True):
        await repository.remove(path, branch, force=discard)
    return losses


async def _remove_hooked(path: Path, discard: bool, ctx: Context) -> Losses:
    """A worktree that a hook has made, a hook removes. What is in it, only that hook knows."""
    if not discard:
        reason = f"{path} was made by a WorktreeCreate hook, so it is not known what would be lost with it."
        raise ToolError(f"{reason} Nothing was removed. Use action=keep, or set discard_changes.")
    await announce("WorktreeRemove", {"worktree_path": str(path)}, ctx)
    if _is_there(path):
        raise ToolError(f"No WorktreeRemove hook has removed {path}. Use action=keep.", code="failed")
    return Losses()


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _root(ctx: Context) -> Path:
    return Path(os.path.realpath(ctx.settings.root))
