# ruff: noqa: N815 - the names of the value are those that programs know from other hosts.
"""Find files by name."""

from __future__ import annotations

import os
import platform
import stat
import time
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from pegboard import Context, Facts, Input, Tool, ToolError, hookimpl
from pegboard.permission.reading import Readable, readable
from pegboard_ignore import GlobError, Matcher, Scope, Tally, walk

LIMIT = 100
LONGEST_PATTERN = 4096
WILD = frozenset("*?[{")


class GlobInput(Input):
    pattern: Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
    """*, **, ?, [a-z], {a,b}; a leading ! negates. Only **/ reaches subfolders: **/*.py."""
    path: Path | None = None
    """The folder to search; default: the working directory."""
    respect_git_ignore: bool = True
    """false also finds ignored files."""
    case_sensitive: bool | None = None
    """Default: as the file system."""
    include_dirs: bool = False
    """Also find folders."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Default: 100."""
    offset: Annotated[int, Field(ge=0)] = 0
    """Skip so many."""


class Skipped(BaseModel):
    """What was left out: files and folders that rules ignore, heavy folders, hidden entries, unreadable folders."""

    ignored: int = 0
    ignored_folders: int = 0
    heavy: int = 0
    hidden: int = 0
    unreadable: int = 0
    withheld: int = 0


class GlobOutput(BaseModel):
    root: str
    filenames: list[str]
    numFiles: int
    totalMatches: int
    countIsComplete: bool
    truncated: bool
    offset: int
    durationMs: int
    timed_out: bool
    skipped: Skipped
    hint: str = ""


class Glob(Tool[GlobInput, GlobOutput]):
    """Find files by name, newest first.

    As in Grep, ignore files (.gitignore, .ignore) count, hidden files are found, .git is skipped, and so are heavy
    folders such as node_modules unless named.
    """

    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "find list files by name pattern path"
    max_result_chars = None

    def validate_input(self, args: GlobInput, /) -> str | None:
        if "\0" in args.pattern:
            return "pattern contains a NUL byte, which no path can hold."
        try:
            pattern = _split(args.pattern)[1]
            Matcher(pattern)
        except GlobError as error:
            return f"the pattern {args.pattern[:200]!r} cannot be read: {error}. Escape special characters with \\."
        if ".." in pattern.split("/"):
            return "'..' may stand only at the beginning of a pattern, before any wildcard. Give the folder as path."
        return None

    def facts(self, args: GlobInput, ctx: Context, /) -> Facts:
        root = Path(_root(args, ctx)[0])
        return Facts(read_only=True, concurrency_safe=True, open_world=False, reads=(root,))

    async def call(self, args: GlobInput, ctx: Context, /) -> GlobOutput:
        # Imported here because listing tools must not pay for anyio.
        from anyio import CapacityLimiter, to_thread

        root, pattern = _root(args, ctx)
        _require_folder(root)
        tally = Tally()
        may_show = readable(ctx, self, root)
        try:
            return await to_thread.run_sync(
                _find, args, ctx, root, pattern, tally, may_show, abandon_on_cancel=True, limiter=CapacityLimiter(1)
            )
        finally:
            tally.stop = True

    def content(self, value: GlobOutput, /) -> str:
        return "\n".join([*map(_printable, value.filenames), *_remarks(value)])


def _split(pattern: str) -> tuple[str, str]:
    """An absolute pattern, or one that begins with `~` or `..`, as the folder it starts from and the rest."""
    outside = pattern.startswith(("/", "~/", "../"))
    if not outside:
        return "", pattern.removeprefix("./")
    names = pattern.split("/")
    count = next((at for at, name in enumerate(names) if not WILD.isdisjoint(name)), len(names) - 1)
    count = min(count, len(names) - 1)
    return "/".join(names[:count]) or "/", "/".join(names[count:]) or "**"


def _root(args: GlobInput, ctx: Context) -> tuple[str, str]:
    folder, pattern = _split(args.pattern)
    given = ctx.resolve(args.path) if args.path is not None else ctx.cwd
    text = os.fspath(given if not folder else ctx.resolve(os.path.join(given, os.path.expanduser(folder))))
    # Taking `..` away by text could mean another folder behind a link, so the kernel is asked.
    return (os.path.realpath(text) if ".." in text.split("/") else os.path.normpath(text)), pattern


def _require_folder(root: str) -> None:
    try:
        mode = os.stat(root).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(f"There is no folder {root}. Give path an existing folder.", code="not_found") from None
    except OSError as error:
        raise ToolError(f"{root} cannot be searched: {error.strerror}.", code="permission_denied") from None
    if not stat.S_ISDIR(mode):
        raise ToolError(f"{root} is a file, not a folder. Give path a folder, or use Read or Grep.", code="unsupported")


def _find(args: GlobInput, ctx: Context, root: str, pattern: str, tally: Tally, may_show: Readable) -> GlobOutput:
    began = time.monotonic()
    settings = ctx.settings
    seconds = settings.get("search.timeoutSeconds", default_seconds())
    ignore_case = not args.case_sensitive if args.case_sensitive is not None else _folds_case(root)
    matcher = Matcher(pattern, ignore_case=ignore_case)
    named = matcher.names | set(root.split("/"))
    hidden = settings.get("search.hidden", True) or any("." in text[:1] or "/." in text for text in matcher.patterns)
    scope = Scope.of(
        root, project=settings.root, include_ignored=not args.respect_git_ignore, hidden=hidden, named=named
    )
    found, withheld = _matches(scope, matcher, tally, began + seconds, may_show, folders=args.include_dirs)
    if not tally.timed_out:
        found.sort()  # The newest first, equals by path: times are negative.
    limit = args.limit or LIMIT
    page = [_shown(root, name, ctx) for _, name in found[args.offset : args.offset + limit]]
    return GlobOutput(
        root=root,
        filenames=page,
        numFiles=len(page),
        totalMatches=len(found),
        countIsComplete=not tally.timed_out,
        truncated=len(found) > args.offset + len(page) or tally.timed_out,
        offset=args.offset,
        durationMs=round((time.monotonic() - began) * 1000),
        timed_out=tally.timed_out,
        skipped=_skipped(tally, withheld),
        hint="" if found or "/" in pattern or pattern.startswith("**") else f"**/{pattern}",
    )


def _matches(
    scope: Scope, matcher: Matcher, tally: Tally, deadline: float, may_show: Readable, *, folders: bool
) -> tuple[list[tuple[int, str]], int]:
    """Every match with the time it was changed, below zero so that the newest sorts first; and how many are denied."""
    found: list[tuple[int, str]] = []
    withheld = 0
    may_hold = matcher.may_hold
    if folders and may_hold is not None:  # A folder that fits has to be met, though nothing in it may fit.
        holds = may_hold
        may_hold = lambda path: holds(path) or matcher.pick("", [path])  # noqa: E731
    for folder in walk(scope, tally, may_hold=may_hold, deadline=deadline):
        names = folder.kept(matcher.pick(folder.relative, folder.names))
        if folders:
            names = names + matcher.pick(folder.relative, folder.folders)
        if not names:
            continue
        prefix = f"{folder.path}/" if folder.path != "/" else "/"
        for name in names:
            changed = _changed(prefix + name, folders)
            if changed is None:
                continue
            if may_show(prefix + name):
                found.append((-changed, folder.relative + name))
            else:
                withheld += 1
    return found, withheld


def _changed(path: str, folders: bool) -> int | None:
    """When a file was last changed; None for what is neither a file nor a link to one, and for what has gone."""
    try:
        info = os.lstat(path)
        mode = info.st_mode
        if stat.S_ISLNK(mode):
            try:
                info = os.stat(path)
                mode = info.st_mode
            except OSError:  # A link that leads nowhere is still there to be found.
                return info.st_mtime_ns
    except OSError:
        return None
    return info.st_mtime_ns if stat.S_ISREG(mode) or (folders and stat.S_ISDIR(mode)) else None


def _folds_case(root: str) -> bool:
    other = root.swapcase()
    try:
        return other != root and os.path.samefile(root, other)
    except OSError:
        return False


@cache
def default_seconds() -> int:
    """How long a search may take; drives of the host are slow under WSL."""
    return 60 if "microsoft" in platform.release().lower() else 20


def _shown(root: str, name: str, ctx: Context) -> str:
    path, cwd = f"{root.rstrip('/')}/{name}", os.fspath(ctx.cwd)
    return path[len(cwd) + 1 :] if path.startswith(f"{cwd}/") else path


def _printable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _skipped(tally: Tally, withheld: int) -> Skipped:
    return Skipped(
        ignored=tally.ignored_files,
        ignored_folders=tally.ignored_folders,
        heavy=tally.heavy,
        hidden=tally.hidden,
        unreadable=tally.unreadable,
        withheld=withheld,
    )


def _remarks(value: GlobOutput) -> list[str]:
    said, skipped = list[str](), value.skipped
    if not value.filenames:
        if value.totalMatches:
            said.append(f"No entries at offset {value.offset}; there are {value.totalMatches} matches.")
        else:
            said.append("No files found.")
            said += [f"Only **/ reaches subfolders: try {value.hint}."] if value.hint else []
            said += _left_out(skipped)
    elif value.truncated or value.offset:
        last = value.offset + value.numFiles
        more = f"; go on with offset={last}" if last < value.totalMatches else ""
        at_least = "" if value.countIsComplete else "at least "
        said.append(f"(Showing {value.offset + 1}-{last} of {at_least}{value.totalMatches}, newest first{more}.)")
    if value.timed_out:
        said.append(
            "(The search ran out of time, so this is incomplete and unsorted. Narrow path or pattern, or raise the "
            "setting search.timeoutSeconds.)"
        )
    if skipped.withheld:
        said.append(f"({_count(skipped.withheld, 'match', 'matches')} withheld by permission rules.)")
    if skipped.unreadable:
        said.append(f"({_count(skipped.unreadable, 'folder', 'folders')} could not be read.)")
    return said


def _left_out(skipped: Skipped) -> list[str]:
    parts = []
    if skipped.ignored:
        parts.append(_count(skipped.ignored, "matching file", "matching files"))
    if skipped.ignored_folders:
        parts.append(_count(skipped.ignored_folders, "folder", "folders"))
    if skipped.heavy:
        parts.append(_count(skipped.heavy, "heavy folder", "heavy folders"))
    if not parts:
        return []
    return [f"Skipped: {', '.join(parts)}; respect_git_ignore=false or path inside them finds what is there."]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


@hookimpl
def register_tools() -> list[Glob]:
    return [Glob()]
