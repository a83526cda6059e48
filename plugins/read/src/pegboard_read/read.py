"""Read a text file with line numbers."""

import os
import stat
from pathlib import Path
from typing import Annotated, BinaryIO

from pydantic import BaseModel, Field

from pegboard import Context, Input, Tool, ToolError, hookimpl

MAX_LINES = 2000
MAX_LINE_CHARS = 2000
SAMPLE_BYTES = 4096


class ReadInput(Input):
    file_path: Path
    """The file to read. A relative path starts at the working directory."""
    offset: Annotated[int, Field(ge=1)] | None = None
    """The first line to show, counted from 1."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """How many lines to show."""


class ReadOutput(BaseModel):
    file_path: str
    lines: list[str]
    start_line: int
    total_lines: int


class Read(Tool[ReadInput, ReadOutput]):
    """Read a text file. Lines come numbered from 1.

    Shows the first 2000 lines unless offset and limit say otherwise. Lines longer than 2000 characters are cut.
    """

    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "show view open text file contents"
    max_result_chars = None

    def call(self, args: ReadInput, ctx: Context, /) -> ReadOutput:
        path = ctx.resolve(args.file_path)
        with _open_regular(path) as stream:
            _refuse_binary(path, stream)
            return _page(path, stream, args.offset or 1, args.limit or MAX_LINES)

    def content(self, value: ReadOutput, /) -> str:
        if not value.total_lines:
            return f"{value.file_path} exists but is empty."
        if not value.lines:
            return f"{value.file_path} has {value.total_lines} lines; there is no line {value.start_line}."
        shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(value.lines, value.start_line))
        last = value.start_line + len(value.lines) - 1
        if last < value.total_lines:
            shown += (
                f"\n(PARTIAL: lines {value.start_line} to {last} of {value.total_lines}; go on with offset={last + 1}.)"
            )
        return shown


def _open_regular(path: Path) -> BinaryIO:
    """Open a regular file without ever waiting for a pipe or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ToolError(f"There is no file {path}. Use Glob to find the right path.", code="not_found") from None
    except (PermissionError, NotADirectoryError, IsADirectoryError) as error:
        raise ToolError(f"{path} cannot be opened: {error.strerror}.", code="permission_denied") from None
    except OSError as error:
        raise ToolError(f"{path} cannot be opened: {error.strerror}.", code="invalid_input") from None
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        what = "a directory. Use Glob to list it" if stat.S_ISDIR(kind) else "not a regular file"
        raise ToolError(f"{path} is {what}.", code="unsupported")
    return os.fdopen(descriptor, "rb")


def _refuse_binary(path: Path, stream: BinaryIO) -> None:
    if b"\0" in stream.read(SAMPLE_BYTES):
        raise ToolError(f"{path} is a binary file and cannot be shown as text.", code="unsupported")
    stream.seek(0)


def _page(path: Path, stream: BinaryIO, start: int, limit: int) -> ReadOutput:
    lines, total = [], 0
    for total, raw in enumerate(stream, 1):
        if start <= total < start + limit:
            try:
                line = raw.decode("utf-8-sig" if total == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise ToolError(f"{path} is not UTF-8 text (line {total}).", code="unsupported") from None
            lines.append(line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS]}… (cut)")
    return ReadOutput(file_path=str(path), lines=lines, start_line=start, total_lines=total)


@hookimpl
def register_tools() -> list[Read]:
    return [Read()]
