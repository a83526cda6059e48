"""Read a file: text with line numbers, pictures, PDF, notebooks, folders."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pegboard import Block, Context, Input, Tool, hookimpl
from pegboard_read.folders import folder_page, words_for
from pegboard_read.numbering import numbered
from pegboard_read.opening import explained, look_at, open_regular, shown
from pegboard_read.outputs import (
    ImageFile,
    NotebookFile,
    PartsFile,
    PdfFile,
    ReadOutput,
    TextFile,
    UnchangedFile,
)
from pegboard_read.pages import Wanted
from pegboard_read.reading import Reading

MAX_TOKENS = 25_000


class ReadInput(Input):
    file_path: Path
    """The file or folder to read. A relative path starts at the working directory."""
    offset: int | None = None
    """The first line, counted from 1; -20 means the last 20 lines. Notebooks: cells."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """How many lines (or cells)."""
    pages: str | None = None
    """PDF only: a page or range such as "3" or "1-5", up to 20 pages."""
    encoding: str | None = None
    """Only when a file is not UTF-8 and Read cannot tell what it is, such as "cp1252"."""


class Read(Tool[ReadInput, ReadOutput]):
    """Read a file: text with line numbers, a picture, a PDF, a notebook with its outputs, or the names in a folder.

    Shows up to 2000 lines from the start unless offset and limit say otherwise; PARTIAL at the end means there is more.
    Very long lines are cut. The number and tab before each line are not part of the file.
    """

    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "show view open cat text file contents image picture pdf notebook folder"
    max_result_chars = None  # It keeps to a budget of its own, and a saved copy of a file would only be read again.

    def validate_input(self, args: ReadInput, /) -> str | None:
        if args.pages is None:
            return None
        from pegboard_read.media import wrong_pages  # On use: most calls need nothing of it, and listing even less.

        return wrong_pages(args.pages)

    def call(self, args: ReadInput, ctx: Context, /) -> ReadOutput:
        path = ctx.resolve(args.file_path)
        found = look_at(path, ctx.cwd)
        wanted = Wanted(args.offset, args.limit, ctx.settings.get("read.maxTokens", MAX_TOKENS))
        if stat.S_ISDIR(found.st_mode):
            return folder_page(path, ctx, wanted)
        view = f"{args.offset}:{args.limit}:{args.pages}:{args.encoding}"
        if ctx.files.shows_again(path, view):
            return UnchangedFile(file_path=shown(path))
        file, found = open_regular(path, ctx)
        with file:
            try:
                value, state = Reading(path, file, found, wanted, args.pages, args.encoding, ctx).value()
            except OSError as error:
                raise explained(path, ctx.cwd, error) from None
        ctx.files.note(path, state, view)
        return value

    def content(self, value: ReadOutput, /) -> str | Sequence[Block]:
        if isinstance(value, TextFile):
            return words_for(value) if value.is_directory else _words(value)
        if isinstance(value, UnchangedFile):
            reason = f"{value.file_path} has not changed since you last read this part of it; that result still holds."
            return f"{reason} If you no longer have it, Read again and it is shown in full."
        if isinstance(value, NotebookFile):
            from pegboard_read.notebooks import blocks_of as cells

            return cells(value)
        from pegboard_read.media import blocks_of as media

        return media(value)

    def describe(self, args: ReadInput, /) -> str:
        part = f", pages {args.pages}" if args.pages else f", from line {args.offset}" if args.offset else ""
        return f"Read {shown(args.file_path)}{part}"

    def render_use(self, args: ReadInput, /) -> object | None:
        return _line("Read ", shown(args.file_path))

    def render_result(self, value: ReadOutput, /) -> object | None:
        return _line("", _summary(value))

    def render_error(self, message: str, /) -> object | None:
        return _line("Read failed: ", message)


def _words(value: TextFile) -> str:
    if value.total_lines == 0:
        return f"{value.file_path} exists but is empty."
    if not value.num_lines and value.total_lines is None:
        return f"{value.file_path} ends before line {value.start_line}."
    if not value.num_lines:
        return f"{value.file_path} has {value.total_lines} lines; there is no line {value.start_line}."
    words = numbered(value.lines, value.start_line)
    last = value.start_line + value.num_lines - 1
    if value.total_lines is None or last < value.total_lines:
        total = "a file too large to count" if value.total_lines is None else str(value.total_lines)
        words += f"\n(PARTIAL: lines {value.start_line} to {last} of {total}; go on with offset={last + 1}.)"
    return f"{words}\n({value.note})" if value.note else words


def _summary(value: ReadOutput) -> str:
    if isinstance(value, TextFile):
        return f"{value.num_lines} {'entries' if value.is_directory else 'lines'}{', partial' if value.partial else ''}"
    if isinstance(value, ImageFile):
        return f"a picture, {value.dimensions.original_width} x {value.dimensions.original_height}"
    if isinstance(value, NotebookFile):
        return f"{len(value.cells)} of {value.total_cells} cells"
    if isinstance(value, (PdfFile, PartsFile)):
        return f"{len(value.pages)} of {value.total_pages} pages"
    return "unchanged"


def _line(label: str, text: str) -> object | None:
    try:
        from rich.text import Text  # Only a terminal needs it, and not every host has it.
    except ImportError:
        return None
    return Text.assemble((label, "bold"), text)


@hookimpl
def register_tools() -> list[Read]:
    return [Read()]
