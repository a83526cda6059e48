"""Read a file: text with line numbers, images, PDF documents, notebooks, folders."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pegboard import Block, Context, Input, Tool, hookimpl
from pegboard_files.records import terminal_text
from pegboard_read.file_reader import FileReader
from pegboard_read.folders import folder_page, words_for
from pegboard_read.line_numbers import numbered
from pegboard_read.open_file import explained, look_at, open_regular, shown
from pegboard_read.pages import LineRange
from pegboard_read.read_output import (
    ImageFile,
    NotebookFile,
    PartsFile,
    PdfFile,
    ReadOutput,
    TextOutput,
    UnchangedFile,
)

# Imports happen inside functions: listing tools must not load the readers of images, PDFs and notebooks.


class ReadInput(Input):
    file_path: Path
    """The file or folder to read. A relative path starts at the working directory."""
    offset: int | None = None
    """The first line, counted from 1; -20 means the last 20 lines. Notebooks: cells."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """The number of lines (or cells) to read."""
    pages: str | None = None
    """PDF only: a page or range such as "3" or "1-5", up to 20 pages."""
    encoding: str | None = None
    """Only for a file that is not UTF-8 and whose encoding Read cannot detect, such as "cp1252"."""


class Read(Tool[ReadInput, ReadOutput]):
    """Read a file: text with line numbers, a picture, a PDF, a notebook with its outputs, or the names in a folder.

    Shows up to 2000 lines from the start unless offset and limit say otherwise; PARTIAL at the end means there is more.
    Very long lines are cut. The number and tab before each line are not part of the file.
    """

    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "show view open cat text file contents image picture pdf notebook folder"
    rule_subject = "path"
    rule_parameter = "file_path"
    max_result_chars = None  # Read keeps to its own token budget, and a saved copy of a file would only be read again.

    def validate_input(self, args: ReadInput, /) -> str | None:
        if args.pages is None:
            return None
        from pegboard_read.media import wrong_pages  # Imported late: listing tools must not pay for the readers.

        return wrong_pages(args.pages)

    def call(self, args: ReadInput, ctx: Context, /) -> ReadOutput:
        path = ctx.resolve(args.file_path)
        found = look_at(path, ctx.cwd)
        wanted = LineRange(args.offset, args.limit, ctx.settings.get("read.maxTokens"))
        if stat.S_ISDIR(found.st_mode):
            return folder_page(path, ctx, wanted)
        view = f"{args.offset}:{args.limit}:{args.pages}:{args.encoding}"
        if ctx.files.shows_again(path, view):
            return UnchangedFile(file_path=shown(path))
        file, found = open_regular(path, ctx)
        with file:
            try:
                value, state = FileReader(path, file, found, args, wanted, ctx).value()
            except OSError as error:
                raise explained(path, ctx.cwd, error) from None
        ctx.files.note(path, state, view)
        return value

    def content(self, value: ReadOutput, /) -> str | Sequence[Block]:
        if isinstance(value, TextOutput):
            return words_for(value) if value.is_directory else _words(value)
        if isinstance(value, UnchangedFile):
            reason = f"{value.file_path} has not changed since you last read this part of it."
            return f"{reason} Use the earlier result; if you no longer have it, call Read again to see it in full."
        if isinstance(value, NotebookFile):
            from pegboard_read.notebooks import blocks_of as cells

            return cells(value)
        from pegboard_read.media import blocks_of as media

        return media(value)

    def describe(self, args: ReadInput, /) -> str:
        part = f", pages {args.pages}" if args.pages else f", from line {args.offset}" if args.offset else ""
        return f"Read {shown(args.file_path)}{part}"

    def render_use(self, args: ReadInput, /) -> object | None:
        return terminal_text(shown(args.file_path), "Read ")

    def render_result(self, value: ReadOutput, /) -> object | None:
        return terminal_text(_summary(value))

    def render_error(self, message: str, /) -> object | None:
        return terminal_text(message, "Read failed: ")


def _words(value: TextOutput) -> str:
    if value.total_lines == 0:
        return f"{value.file_path} exists but is empty."
    if not value.num_lines and value.total_lines is None:
        return f"{value.file_path} ends before line {value.start_line}."
    if not value.num_lines:
        lines = "1 line" if value.total_lines == 1 else f"{value.total_lines} lines"
        return f"{value.file_path} has {lines}; there is no line {value.start_line}."
    words = numbered(value.lines, value.start_line)
    last = value.start_line + value.num_lines - 1
    if value.total_lines is None or last < value.total_lines:
        total = "a file too large to count" if value.total_lines is None else str(value.total_lines)
        words += f"\n(PARTIAL: lines {value.start_line} to {last} of {total}; continue with offset={last + 1}.)"
    return f"{words}\n({value.note})" if value.note else words


def _summary(value: ReadOutput) -> str:
    if isinstance(value, TextOutput):
        one, many = ("entry", "entries") if value.is_directory else ("line", "lines")
        return f"{value.num_lines} {one if value.num_lines == 1 else many}{', partial' if value.partial else ''}"
    if isinstance(value, ImageFile):
        return f"an image, {value.dimensions.original_width} x {value.dimensions.original_height}"
    if isinstance(value, NotebookFile):
        return f"{len(value.cells)} of {value.total_cells} cells"
    if isinstance(value, (PdfFile, PartsFile)):
        return f"{len(value.pages)} of {value.total_pages} pages"
    return "unchanged"


@hookimpl
def register_tools() -> list[Read]:
    return [Read()]
