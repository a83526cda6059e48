# ruff: noqa: N815 - the output's field names are those that programs know from other hosts.
"""Turn search results into output: their order, the requested page, and notes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from pegboard import Context
from pegboard.wording import counted
from pegboard_grep.records import LineRecords, Row
from pegboard_ignore import Skipped

if TYPE_CHECKING:
    from pegboard_grep.grep import GrepInput, Run

LIMIT = 250
MOST_CHARS = 1_000_000


@dataclass(slots=True)
class SkippedInFiles(Skipped):
    """What was skipped; ignored, heavy and hidden entries are counted only when nothing was found."""

    searched: int | None = None
    binary: int = 0
    complete: bool = True


class GrepOutput(BaseModel):
    mode: str
    filenames: list[str] = Field(default_factory=list)
    content: str = ""
    numFiles: int = 0
    numLines: int = 0
    numMatches: int = 0
    totalFiles: int = 0
    totalLines: int = 0
    appliedLimit: int | None = None
    appliedOffset: int = 0
    truncated: bool = False
    timed_out: bool = False
    dropped: bool = False
    engine: str = "ripgrep"
    engine_note: str = ""
    nothing_searched: bool = False
    skipped: SkippedInFiles = Field(default_factory=SkippedInFiles)


def page(args: GrepInput, ctx: Context, run: Run) -> GrepOutput:
    """The requested page, as an output value."""
    records, complaints = run.records, run.complaints
    limit = LIMIT if args.head_limit is None else args.head_limit or None
    value = GrepOutput(
        mode=args.output_mode,
        totalFiles=len(records.files),
        numMatches=sum(records.files.values()),
        appliedLimit=limit,
        appliedOffset=args.offset,
        timed_out=run.timed_out,
        dropped=run.overflowed,
        engine=run.engine.name,
        engine_note=run.engine.note,
        nothing_searched=complaints.nothing_searched,
        skipped=SkippedInFiles(unreadable=complaints.unreadable, withheld=run.withheld, binary=records.binary),
    )
    if isinstance(records, LineRecords):
        _lines(value, args, ctx, run, records)
    elif args.output_mode == "count":
        _counts(value, ctx, run)
    else:
        _files(value, ctx, run)
    return value


def _span(value: GrepOutput, total: int) -> slice:
    end = None if value.appliedLimit is None else value.appliedOffset + value.appliedLimit
    value.truncated = value.timed_out or value.dropped or (end is not None and end < total)
    return slice(value.appliedOffset, end)


def _files(value: GrepOutput, ctx: Context, run: Run) -> None:
    if not value.timed_out:
        run.stamped.sort()
    value.totalLines = len(run.stamped)
    value.filenames = [shown(run.path(path), ctx) for _, path in run.stamped[_span(value, value.totalLines)]]
    value.numFiles = value.numLines = len(value.filenames)


def _counts(value: GrepOutput, ctx: Context, run: Run) -> None:
    counted = sorted((run.path(path), count) for path, count in run.records.files.items())
    value.totalLines = len(counted)
    kept = counted[_span(value, len(counted))]
    value.filenames = [shown(path, ctx) for path, _ in kept]
    value.content = "\n".join(f"{printable(shown(path, ctx))}:{count}" for path, count in kept)
    value.numFiles = value.numLines = len(kept)


def _lines(value: GrepOutput, args: GrepInput, ctx: Context, run: Run, records: LineRecords) -> None:
    value.totalLines = records.total_rows
    value.dropped = value.dropped or records.dropped
    span = _span(value, records.total_rows)
    passed, lines, room = 0, list[str](), MOST_CHARS
    grouped = bool(run.search.before or run.search.after) and not args.only_matching
    previous: tuple[bytes, int] | None = None
    for path in sorted(records.rows):
        rows = sorted(records.rows[path], key=_line) if records.rows[path] else []
        if span.stop is not None and passed >= span.stop:
            break
        if passed + len(rows) <= span.start:
            passed += len(rows)
            continue
        name = shown(run.path(path), ctx)
        first = len(lines)
        for row in rows:
            if span.start <= passed and (span.stop is None or passed < span.stop) and room > 0:
                if grouped and previous is not None and (previous[0] != path or row.line > previous[1] + 1):
                    lines.append("--")
                lines.append(_worded(printable(name), row, numbers=args.line_numbers))
                value.numLines += 1
                room -= len(lines[-1])
                previous = (path, row.line)
            passed += 1
        if len(lines) > first:
            value.filenames.append(name)
    if room <= 0:
        value.truncated = True
    value.content = "\n".join(lines)
    value.numFiles = len(value.filenames)


def _line(row: Row) -> int:
    return row.line


def _worded(name: str, row: Row, *, numbers: bool) -> str:
    sign, text = ":" if row.matches else "-", row.text.decode("utf-8", "backslashreplace")
    return f"{name}{sign}{row.line}{sign}{text}" if numbers else f"{name}{sign}{text}"


def shown(path: str, ctx: Context) -> str:
    """A path as the model sees it: relative to the working directory when it is inside."""
    cwd = os.fspath(ctx.cwd)
    return path[len(cwd) + 1 :] if path.startswith(f"{cwd}/") else path


def printable(path: str) -> str:
    """A name that may contain bytes that are not text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def text_of(value: GrepOutput) -> str:
    """What the model reads."""
    body = [value.content] if value.content else [printable(name) for name in value.filenames]
    return "\n".join([*body, *_remarks(value)])


def _remarks(value: GrepOutput) -> list[str]:
    said = list[str]()
    if not value.numLines:
        said += _nothing(value)
    elif value.mode == "count":
        said.append(f"Total: {counted(value.numMatches, 'matching line')} in {counted(value.totalFiles, 'file')}.")
    last = value.appliedOffset + value.numLines
    if value.numLines and last < value.totalLines:
        unit = "lines" if value.mode == "content" else "files"
        what = f"Showing {value.appliedOffset + 1}-{last} of {value.totalLines} {unit}"
        said.append(f"({what}; continue with offset={last}.)")
    if value.dropped:
        said.append("(There were too many results to keep. Narrow path, glob or pattern to see the rest.)")
    if value.timed_out:
        said.append("(The search timed out, so the results are incomplete. Narrow path, glob or pattern.)")
    skipped = value.skipped
    if skipped.withheld:
        said.append("(Files withheld by permission rules were not searched.)")
    if skipped.unreadable:
        said.append(f"({counted(skipped.unreadable, 'path')} could not be read.)")
    if skipped.binary:
        said.append(f"({counted(skipped.binary, 'binary file')} with matches, not shown.)")
    if value.engine != "ripgrep":
        why = f": {value.engine_note}" if value.engine_note else ""
        said.append(f"(Searched with the slower Python engine{why}.)")
    return said


def _nothing(value: GrepOutput) -> list[str]:
    if value.totalLines:
        return [f"No entries at offset {value.appliedOffset}; there are {value.totalLines}."]
    if value.timed_out:
        return []
    skipped = value.skipped
    where = "" if skipped.searched is None or not skipped.complete else f" in {counted(skipped.searched, 'file')}"
    empty = value.nothing_searched or skipped.searched == 0
    said = ["Nothing was searched: no file matches path, glob and type." if empty else f"No matches found{where}."]
    left = [(skipped.ignored, "file"), (skipped.ignored_folders, "folder"), (skipped.heavy, "heavy folder")]
    parts = [counted(number, what) for number, what in left if number]
    if parts:
        at_least = "" if skipped.complete else "at least "
        said.append(
            f"Skipped by ignore rules: {at_least}{', '.join(parts)}; pass include_ignored=true or the path itself."
        )
    if skipped.hidden:
        said.append(f"Skipped as hidden: {counted(skipped.hidden, 'entry', 'entries')}; pass hidden=true.")
    return said
