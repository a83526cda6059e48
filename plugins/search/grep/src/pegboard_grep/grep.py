"""Search the contents of files."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from pegboard import Context, Facts, Input, Tool, ToolError, hookimpl, resolve_path
from pegboard_grep.command import LISTING, Search
from pegboard_grep.denied_files import everything, left_out
from pegboard_grep.engines import Engine, engine_for
from pegboard_grep.failures import Complaints, refused, understand
from pegboard_grep.grep_output import GrepOutput, page, text_of
from pegboard_grep.records import CountRecords, FileRecords, LineRecords, Records
from pegboard_grep.skipped import count_skipped
from pegboard_ignore import GlobError, IgnoreRules, Lookup, Scope, default_seconds, expand, split_list

LONGEST_PATTERN = 100_000
MOST_ERRORS = 64_000
REPORT_EVERY = 0.2

Count = Annotated[int, Field(ge=0)]


class GrepInput(Input):
    pattern: str
    """A regular expression in ripgrep's syntax; literal braces need \\{ \\}."""
    path: Path | None = None
    """File or folder; default: the working directory."""
    glob: str | None = None
    """Such as *.{ts,tsx} or *.py,!test_*."""
    type: str | None = None
    """A file type such as py, js, rust; faster than glob."""
    output_mode: Literal["files_with_matches", "content", "count"] = "files_with_matches"
    ignore_case: Annotated[bool, Field(alias="-i")] = False
    line_numbers: Annotated[bool, Field(alias="-n")] = True
    only_matching: Annotated[bool, Field(alias="-o")] = False
    after: Annotated[Count | None, Field(alias="-A")] = None
    before: Annotated[Count | None, Field(alias="-B")] = None
    around: Annotated[Count | None, Field(alias="-C")] = None
    context: Count | None = None
    """The same as -C."""
    head_limit: Count | None = None
    """Entries or lines to show; default 250, 0 for all."""
    offset: Count = 0
    """How many results to skip."""
    multiline: bool = False
    """Let patterns span lines."""
    fixed_strings: bool = False
    """The pattern is plain text."""
    include_ignored: bool = False
    hidden: bool = True


class Grep(Tool[GrepInput, GrepOutput]):
    """Search the contents of files with a regular expression.

    Modes: files_with_matches (newest first), content (path:line:text), count. As in Glob, ignore files (.gitignore,
    .ignore) count, hidden files are searched, .git is skipped, and so are heavy folders such as node_modules unless
    named. include_ignored, or path set to the very file or folder, searches what is ignored.
    """

    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "search text contents regex ripgrep find in files"
    rule_subject = "path"
    rule_parameter = "path"

    def validate_input(self, args: GrepInput, /) -> str | None:
        if not args.pattern:
            return "pattern is empty, so it would match every line. Use Glob to list files, or Read to see one."
        if "\0" in args.pattern or "\0" in (args.glob or "") or "\0" in (args.type or ""):
            return "pattern, glob and type cannot contain a NUL byte."
        size = len(args.pattern.encode("utf-8", "surrogatepass"))
        if size > LONGEST_PATTERN:
            return f"pattern has {size} bytes; the limit is {LONGEST_PATTERN}. Search for a part of it."
        try:
            IgnoreRules.from_globs(split_list(args.glob or ""))
        except GlobError as error:
            return f"the glob {args.glob!r} is not valid: {error}. Escape special characters with \\."
        return None

    def facts(self, args: GrepInput, ctx: Context, /) -> Facts:
        return Facts(read_only=True, concurrency_safe=True, open_world=False, reads=(Path(_root(args, ctx)),))

    async def call(self, args: GrepInput, ctx: Context, /) -> GrepOutput:
        # Imported late: listing tools must not pay for anyio.
        from anyio import to_thread

        root = _root(args, ctx)
        search = _search(args, ctx, root, is_file=_is_file(root))
        run = Run(self, search, ctx)
        await run.finish()
        value = page(args, ctx, run)
        if not run.records.files and not search.file and not run.timed_out:
            await to_thread.run_sync(count_skipped, search, value.skipped, run.may_show, abandon_on_cancel=True)
        return value

    def content(self, value: GrepOutput, /) -> str:
        return text_of(value)


def _root(args: GrepInput, ctx: Context) -> str:
    text = os.fspath(ctx.resolve(args.path) if args.path is not None else ctx.cwd)
    # Taking `..` away by text could mean another folder behind a link, so the kernel is asked.
    return resolve_path(text).spellings[-1] if ".." in text.split("/") else os.path.normpath(text)


def _is_file(root: str) -> bool:
    try:
        mode = os.stat(root).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(f"There is no file or folder {root}. Use Glob to find it.", code="not_found") from None
    except OSError as error:
        raise ToolError(f"{root} cannot be searched: {error.strerror}.", code="permission_denied") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ToolError(f"{root} is neither a regular file nor a folder.", code="unsupported")
    return stat.S_ISREG(mode)


def _search(args: GrepInput, ctx: Context, root: str, *, is_file: bool) -> Search:
    globs = tuple(split_list(args.glob or ""))
    named = {name for glob in globs for text in expand(glob) for name in text.lstrip("!").split("/")}
    folder = os.path.dirname(root) if is_file else root
    scope = Scope.of(
        folder,
        project=ctx.settings.root,
        include_ignored=args.include_ignored or is_file,
        hidden=args.hidden and ctx.settings.get("search.hidden"),
        named=named | set(folder.split("/")),
    )
    around = args.around if args.around is not None else args.context or 0
    return Search(
        pattern=args.pattern,
        scope=scope,
        file=root if is_file else "",
        mode=args.output_mode,
        globs=() if is_file or globs in (("*",), ("**",), ("**/*",)) else globs,
        type="" if is_file else args.type or "",
        ignore_case=args.ignore_case,
        only_matching=args.only_matching,
        multiline=args.multiline,
        fixed=args.fixed_strings,
        before=args.before if args.before is not None else around,
        after=args.after if args.after is not None else around,
    )


RECORDS: dict[str, type[Records]] = {
    "files_with_matches": FileRecords,
    "count": CountRecords,
    "content": LineRecords,
}


class Run:
    """One running search and its results so far."""

    def __init__(self, tool: Grep, search: Search, ctx: Context) -> None:
        self.search, self._ctx = search, ctx
        self.base = os.path.dirname(search.file) if search.file else search.scope.base
        self.engine: Engine = engine_for(ctx)
        self.may_show = ctx.path_filter(tool, search.file or search.scope.root) or everything
        # With a glob, ripgrep also searches ignored files that match it; here a glob only ever narrows a search.
        self._lookup = Lookup(search.scope) if search.globs and not search.file else None
        self._globs = IgnoreRules.from_globs(search.globs) if search.type else IgnoreRules()
        sees_all = self.may_show is everything and not search.globs and (search.scope.hidden or bool(search.file))
        self._judge = None if sees_all else self._accept
        self.records: Records = self._fresh()
        self.stamped: list[tuple[int, bytes]] = []
        """Files with matches and their modification times, negated so that the newest sorts first."""
        self.complaints = Complaints()
        self.withheld = self.may_show is not everything
        """Whether there are rules that withhold files from searches, in this one or another."""
        self.timed_out = self.overflowed = False
        self._failure: Exception | None = None
        self._searching = not self.withheld
        self._began, self._reported = time.monotonic(), 0.0

    def _fresh(self) -> Records:
        made = RECORDS[self.search.mode](self._judge)
        if isinstance(made, FileRecords):
            self.stamped = []
            made.look = self._stamp
        return made

    def _stamp(self, paths: list[bytes]) -> None:
        """Stat files while the engine is still running, so that it costs no time afterwards.

        Names stay bytes: of many files only a page is shown, and decoding each takes longer than its stat.
        """
        base = os.fsencode(self.base) + b"/"
        for path in paths:
            try:
                changed = os.stat(base + path).st_mtime_ns
            except OSError:  # It has been removed since it matched; it still counts.
                changed = 0
            self.stamped.append((-changed, path))

    async def finish(self) -> None:
        """Search everything that the rules do not withhold."""
        if not self.withheld or await self._leave_out():
            await self._attempt(self.search)

    async def _leave_out(self) -> bool:
        """Find out what must not be opened; return whether there is anything left to search, and time for it."""
        # Imported late: listing tools must not pay for anyio.
        from anyio import to_thread

        if self.search.file:
            self.complaints = Complaints(nothing_searched=not self.may_show(self.search.file))
            self._searching = not self.complaints.nothing_searched
            return self._searching
        wanted, self.records = self.records, FileRecords(None)
        await self._attempt(replace(self.search, mode=LISTING))
        listed, self.records = self.records.files, wanted
        if self.timed_out or self.overflowed:
            return False
        places = await to_thread.run_sync(left_out, listed, self.path, self.may_show, abandon_on_cancel=True)
        self.search, self._searching = replace(self.search, left_out=places), True
        return True

    async def _attempt(self, search: Search) -> None:
        """Run the engine; again with one thread if the system is out of threads."""
        await self._run(search, 0)
        if self.complaints.overloaded:
            self.records = FileRecords(None) if search.mode == LISTING else self._fresh()
            await self._run(search, 1)
        if self.complaints.fatal:
            raise refused(self.complaints.fatal)

    async def _run(self, search: Search, threads: int) -> None:
        errors = bytearray()

        def complain(data: bytes) -> None:
            errors.extend(data[: MOST_ERRORS - len(errors)])

        seconds = self._ctx.settings.get("search.timeoutSeconds", default_seconds())
        spec = search.spec(self.engine, max(self._began + seconds - time.monotonic(), 0.1), threads=threads)
        ended = await self._ctx.processes.run(spec, on_output=self._take, on_error=complain)
        if self._failure is not None:
            raise self._failure
        self.timed_out, self.overflowed = ended.timed_out, ended.truncated
        self.complaints = understand(bytes(errors), ended.code)
        if ended.code is None and not ended.timed_out and not ended.truncated:
            raise ToolError(f"The search was killed by {ended.signal}.", code="failed", remedy="Try a narrower search.")

    def _take(self, data: bytes) -> None:
        """Keep the exception: the service drops a listener that raises, and the failure would be lost."""
        if self._failure is None:
            try:
                self.records.feed(data)
                self._report()
            except Exception as failure:
                self._failure = failure

    def _report(self) -> None:
        files, now = self.records.files, time.monotonic()
        if files and self._searching and now - self._reported > REPORT_EVERY:
            self._reported = now
            self._ctx.report(
                f"{len(files)} files with matches so far", files=len(files), latest=_name(next(reversed(files)))
            )

    def _accept(self, path: bytes) -> bool:
        place = self.path(path)
        if self._lookup is not None and self._lookup.ignores(place):
            return False
        # A type, a glob or a re-including rule makes ripgrep search hidden files regardless.
        inner = place[len(self.search.scope.root) :]
        if not self.search.scope.hidden and not self.search.file and "/." in inner:
            return False
        if self._globs and not self._globs.keeps(inner.lstrip("/"), os.path.basename(inner)):
            return False
        # A withheld file that was created after the search began is dropped here.
        return self.may_show(place)

    def path(self, path: bytes) -> str:
        """The absolute path of a file as the engine names it."""
        return f"{self.base.rstrip('/')}/{os.fsdecode(path.removeprefix(b'./'))}"


def _name(path: bytes) -> str:
    return path.removeprefix(b"./").decode("utf-8", "backslashreplace")


@hookimpl
def register_tools() -> list[Grep]:
    return [Grep()]
