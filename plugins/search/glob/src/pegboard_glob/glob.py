# ruff: noqa: N815 - the output's field names are those that programs know from other hosts.
"""Find files by name."""

from __future__ import annotations

import heapq
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from pegboard import Context, Facts, Input, Tool, ToolError, hookimpl, resolve_path
from pegboard.wording import counted
from pegboard_ignore import GlobError, Matcher, Scope, Skipped, Tally, default_seconds, walk

LIMIT = 100
LONGEST_PATTERN = 4096
PathFilter = Callable[[str], bool] | None
WILD = frozenset("*?[{")


class GlobInput(Input):
    pattern: Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
    """*, **, ?, [a-z], {a,b}; a leading ! negates. Only **/ reaches subfolders: **/*.py."""
    path: Path | None = None
    """The folder to search; default: the working directory."""
    respect_git_ignore: bool = True
    """false also finds ignored files."""
    case_sensitive: bool | None = None
    """Default: as the file system does."""
    include_dirs: bool = False
    """Also find folders."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Default: 100."""
    offset: Annotated[int, Field(ge=0)] = 0
    """How many results to skip."""


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
    rule_subject = "path"
    rule_parameter = "path"
    capability = "read"
    max_result_chars = None

    def validate_input(self, args: GlobInput, /) -> str | None:
        if "\0" in args.pattern:
            return "pattern contains a NUL byte, which is not allowed in a path."
        try:
            pattern = _split(args.pattern)[1]
            Matcher(pattern)
        except GlobError as error:
            return f"the pattern {args.pattern[:200]!r} is not valid: {error}. Escape special characters with \\."
        if ".." in pattern.split("/"):
            return "'..' is allowed only at the beginning of a pattern, before any wildcard. Give the folder as path."
        return None

    def facts(self, args: GlobInput, ctx: Context, /) -> Facts:
        root = Path(_root(args, ctx)[0])
        return Facts(read_only=True, concurrency_safe=True, open_world=False, reads=(root,))

    async def call(self, args: GlobInput, ctx: Context, /) -> GlobOutput:
        # Imported late: listing tools must not pay for anyio.
        from anyio import CapacityLimiter, to_thread

        root, pattern = _root(args, ctx)
        _require_folder(root)
        tally = Tally()
        may_show = ctx.path_filter(self, root)
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
    return (resolve_path(text).spellings[-1] if ".." in text.split("/") else os.path.normpath(text)), pattern


def _require_folder(root: str) -> None:
    try:
        mode = os.stat(root).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(f"There is no folder {root}. Set path to an existing folder.", code="not_found") from None
    except OSError as error:
        raise ToolError(f"{root} cannot be searched: {error.strerror}.", code="permission_denied") from None
    if not stat.S_ISDIR(mode):
        raise ToolError(f"{root} is a file, not a folder. Set path to a folder, or use Read.", code="unsupported")


def _find(args: GlobInput, ctx: Context, root: str, pattern: str, tally: Tally, may_show: PathFilter) -> GlobOutput:
    began = time.monotonic()
    settings = ctx.settings
    seconds = settings.get("search.timeoutSeconds", default_seconds())
    ignore_case = not args.case_sensitive if args.case_sensitive is not None else _folds_case(root)
    matcher = Matcher(pattern, ignore_case=ignore_case)
    named = matcher.names | set(root.split("/"))
    hidden = settings.get("search.hidden") or any("." in text[:1] or "/." in text for text in matcher.patterns)
    scope = Scope.of(
        root, project=settings.root, include_ignored=not args.respect_git_ignore, hidden=hidden, named=named
    )
    matches = _matches(scope, matcher, tally, began + seconds, may_show, folders=args.include_dirs)
    # Newest first, then by path: times are negative. No more is kept than the page needs: 100,000 matches take memory,
    # and Python would search them for garbage again and again.
    newest = heapq.nsmallest(args.offset + (args.limit or LIMIT), matches)
    page = [_shown(root, name, ctx) for _, name in newest[args.offset :]]
    return GlobOutput(
        root=root,
        filenames=page,
        numFiles=len(page),
        totalMatches=tally.matches,
        countIsComplete=not tally.timed_out,
        truncated=tally.matches > args.offset + len(page) or tally.timed_out,
        offset=args.offset,
        durationMs=round((time.monotonic() - began) * 1000),
        timed_out=tally.timed_out,
        skipped=_skipped(tally, withheld=may_show is not None),
        hint="" if newest or "/" in pattern or pattern.startswith("**") else f"**/{pattern}",
    )


def _matches(
    scope: Scope, matcher: Matcher, tally: Tally, deadline: float, may_show: PathFilter, *, folders: bool
) -> Iterator[tuple[int, str]]:
    """Every match that may be shown, with its modification time, negated so that the newest sorts first."""
    may_hold = matcher.may_hold
    if folders and may_hold is not None:  # A folder that matches must be visited even if nothing in it can match.
        holds = may_hold
        may_hold = lambda path: holds(path) or matcher.pick("", [path])  # noqa: E731
    for folder in walk(scope, tally, may_hold=may_hold, deadline=deadline):
        prefix = f"{folder.path}/" if folder.path != "/" else "/"
        # Withheld files are removed first: they must not even be counted as ignored.
        names = folder.kept(_shown_only(matcher.pick(folder.relative, folder.names), prefix, may_show))
        if folders:
            names = names + _shown_only(matcher.pick(folder.relative, folder.folders), prefix, may_show)
        for name in names:
            changed = _changed(prefix + name, folders)
            if changed is not None:
                tally.matches += 1
                yield -changed, folder.relative + name


def _shown_only(names: list[str], prefix: str, may_show: PathFilter) -> list[str]:
    return names if may_show is None else [name for name in names if may_show(prefix + name)]


def _changed(path: str, folders: bool) -> int | None:
    """A file's modification time; None if it is neither a file nor a link to one, or no longer exists."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(info.st_mode):
        try:
            info = os.stat(path)
        except OSError:  # A broken link is still a match.
            return info.st_mtime_ns
    return info.st_mtime_ns if stat.S_ISREG(info.st_mode) or (folders and stat.S_ISDIR(info.st_mode)) else None


def _folds_case(root: str) -> bool:
    other = root.swapcase()
    try:
        return other != root and os.path.samefile(root, other)
    except OSError:
        return False


def _shown(root: str, name: str, ctx: Context) -> str:
    path, cwd = f"{root.rstrip('/')}/{name}", os.fspath(ctx.cwd)
    return path[len(cwd) + 1 :] if path.startswith(f"{cwd}/") else path


def _printable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _skipped(tally: Tally, *, withheld: bool) -> Skipped:
    skipped = Skipped(unreadable=tally.unreadable, withheld=withheld)
    skipped.count(tally)
    return skipped


def _remarks(value: GlobOutput) -> list[str]:
    said, skipped = list[str](), value.skipped
    if not value.filenames:
        if value.totalMatches:
            matches = "is 1 match" if value.totalMatches == 1 else f"are {value.totalMatches} matches"
            said.append(f"No entries at offset {value.offset}; there {matches}.")
        else:
            said.append("No files found.")
            said += [f"Only **/ reaches subfolders: try {value.hint}."] if value.hint else []
            said += _left_out(skipped)
    elif value.truncated or value.offset:
        last = value.offset + value.numFiles
        more = f"; continue with offset={last}" if last < value.totalMatches else ""
        at_least = "" if value.countIsComplete else "at least "
        said.append(f"(Showing {value.offset + 1}-{last} of {at_least}{value.totalMatches}, newest first{more}.)")
    if value.timed_out:
        said.append(
            "(The search timed out, so this list is incomplete. Narrow path or pattern, or raise the "
            "setting search.timeoutSeconds.)"
        )
    if skipped.withheld:
        said.append("(Files withheld by permission rules are not listed.)")
    if skipped.unreadable:
        said.append(f"({counted(skipped.unreadable, 'folder')} could not be read.)")
    return said


def _left_out(skipped: Skipped) -> list[str]:
    parts = []
    if skipped.ignored:
        parts.append(counted(skipped.ignored, "matching file", "matching files"))
    if skipped.ignored_folders:
        parts.append(counted(skipped.ignored_folders, "folder"))
    if skipped.heavy:
        parts.append(counted(skipped.heavy, "heavy folder"))
    if not parts:
        return []
    return [f"Skipped: {', '.join(parts)}. To search there, pass respect_git_ignore=false or a path inside."]


@hookimpl
def register_tools() -> list[Glob]:
    return [Glob()]
