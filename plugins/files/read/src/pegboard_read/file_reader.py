"""Turn one file into Read's output: what kind of file it is, and which part of it is wanted."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pegboard import Context, ToolError, resolve_path
from pegboard_files import FileState
from pegboard_files.encodings import Charset, NotTextError, canonical, charset_of, is_valid, mark_for
from pegboard_files.service import stat_state
from pegboard_files.text_style import declared_style
from pegboard_read.encoding_guess import guess
from pegboard_read.open_file import shown
from pegboard_read.pages import LinePage, LineRange, page_of
from pegboard_read.read_output import ReadOutput, TextOutput
from pegboard_read.streams import COUNTED_BYTES, page_of_stream, survey

if TYPE_CHECKING:
    from pegboard_read.read import ReadInput

# Imports happen inside functions: listing tools must not load the readers of images, PDFs and notebooks.

HELD_BYTES = 2_000_000
"""Files up to this size are read at once; larger ones in pieces."""
HEAD_BYTES = 1_000_000
LARGEST_MEDIA = 100_000_000
MAGIC = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF-", b"II*\0", b"MM\0*", b"BM")
BINARIES = {
    b"\x7fELF": "an ELF program",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"SQLite format 3": "an SQLite database",
    b"MZ": "a Windows program",
}


class FileReader:
    """The reading of one file, and what the conversation remembers of it."""

    def __init__(
        self,
        path: Path,
        file: BinaryIO,
        found: os.stat_result,
        args: ReadInput,
        wanted: LineRange,
        ctx: Context,
    ) -> None:
        self.path, self.file, self.found, self.wanted, self.ctx = path, file, found, wanted, ctx
        self.pages, self.encoding = args.pages, args.encoding
        self.name = shown(path)

    def value(self) -> tuple[ReadOutput, FileState]:
        """Build the tool's output and record what the conversation has now seen."""
        data = self._held()
        if data.startswith(MAGIC) or data[4:8] == b"ftyp":
            from pegboard_media import media_type_of

            if kind := media_type_of(data):
                return self._media(kind, data)
        if self.pages is not None:
            raise ToolError(f"{self.name} is not a PDF, so it has no pages. Use offset and limit.")
        if self.path.suffix == ".ipynb":
            return self._notebook(data)
        return self._text(data)

    def _held(self) -> bytes:
        """The file's bytes, or only its head when the file is too large to hold in memory."""
        data = self.file.read(min(self.found.st_size or HELD_BYTES, HELD_BYTES) + 1)
        # Files in /proc return short reads, and their size is 0.
        while 0 < len(data) <= HELD_BYTES and len(data) != self.found.st_size:
            more = self.file.read(HELD_BYTES + 1 - len(data))
            if not more:
                break
            data += more
        return data or b""

    def _whole(self, data: bytes, largest: int, what: str) -> bytes:
        if len(data) <= HELD_BYTES:
            return data
        if self.found.st_size > largest:
            reason = f"{self.name} is {self.found.st_size:,} bytes; Read's limit for {what} is {largest:,} bytes."
            raise ToolError(f"{reason} Make a smaller copy with Bash first.", code="too_large")
        return data + self.file.read()

    def _media(self, kind: str, data: bytes) -> tuple[ReadOutput, FileState]:
        from pegboard_read.media import pdf_of, picture_of

        whole = self._whole(data, LARGEST_MEDIA, "images and documents")
        state = replace(stat_state(self.found, hashlib.sha256(whole).hexdigest()), complete=False, encoding="binary")
        if kind == "application/pdf":
            return pdf_of(whole, self.name, self.pages, self.wanted.max_tokens, self.ctx.files), state
        if self.pages is not None:
            raise ToolError(f"{self.name} is an image ({kind}), so it has no pages.")
        return picture_of(whole, self.name), state

    def _notebook(self, data: bytes) -> tuple[ReadOutput, FileState]:
        from pegboard_read.notebooks import LARGEST, NotANotebookError, notebook_of

        whole = self._whole(data, LARGEST, "notebooks")
        try:
            value = notebook_of(whole, self.name, self.wanted)
        except NotANotebookError as error:
            text, state = self._text(data)
            note = f"This is not a valid notebook: {error}. It is shown as text."
            return text.model_copy(update={"note": note}), state
        shown_all = len(value.cells) == value.total_cells and not any(cell.cut for cell in value.cells)
        return value, replace(stat_state(self.found, hashlib.sha256(whole).hexdigest()), complete=shown_all)

    def _text(self, data: bytes) -> tuple[TextOutput, FileState]:
        held = len(data) <= HELD_BYTES
        charset = self._charset(data if held else data[:HEAD_BYTES], whole=held)
        if held:
            page = page_of(data[len(charset.bom) :] if charset.bom else data, charset, self.wanted)
            digest = hashlib.sha256(data).hexdigest()
        else:
            counted = self.found.st_size <= COUNTED_BYTES
            found = survey(self.file, charset, self.name, self._tick) if counted else None
            page = page_of_stream(self.file, charset, self.wanted, found, self.name, self._tick)
            digest = found.digest if found else ""
        return self._text_file(page, charset), self._state(page, charset, digest)

    def _charset(self, head: bytes, *, whole: bool) -> Charset:
        if self.encoding is not None:
            given = canonical(self.encoding)
            mark = mark_for(given)
            if not is_valid(head, given, whole=whole):
                raise ToolError(f"{self.name} is not {given} text. Try another encoding, or none.", code="unsupported")
            return Charset(given, mark if mark and head.startswith(mark) else b"", "given")
        try:
            return charset_of(head, whole=whole, declared=self._declared, guess=guess)
        except NotTextError as error:
            raise _unreadable(self.name, head, self.found.st_size, binary=error.binary) from None

    def _declared(self) -> str | None:
        return declared_style(Path(resolve_path(os.fspath(self.path)).spellings[-1])).encoding

    def _tick(self, done: int) -> None:
        self.ctx.report(f"{done // 1_000_000} MB of {self.name} scanned")

    def _text_file(self, page: LinePage, charset: Charset) -> TextOutput:
        note = ""
        if charset.found_by == "guess":
            note = f"The encoding is not declared; it was guessed to be {charset.encoding}."
        value = TextOutput(
            file_path=self.name,
            content=page.content,
            num_lines=page.count,
            start_line=page.start,
            total_lines=page.total,
            truncated_by_token_cap=page.capped,
            partial=page.more or page.start > 1 or page.cut > 0,
            cut_lines=page.cut,
            encoding=charset.encoding,
            newline=page.newline,
            note=note,
        )
        value.remember_lines(page.lines)
        return value

    def _state(self, page: LinePage, charset: Charset, digest: str) -> FileState:
        last = page.start + page.count - 1
        complete = page.complete and bool(digest)
        base = stat_state(self.found, digest)
        return replace(
            base,
            encoding=charset.encoding,
            newline=page.newline,
            mixed=page.mixed,
            bom=bool(charset.bom),
            complete=complete,
            ranges=() if complete or page.cut or not page.count else ((page.start, last),),
            total_lines=page.total,
        )


def _unreadable(name: str, head: bytes, size: int, *, binary: bool) -> ToolError:
    if binary:
        what = next((words for magic, words in BINARIES.items() if head.startswith(magic)), "a binary file")
        reason = f"{name} is {what} ({size:,} bytes) and cannot be shown as text."
        return ToolError(f"{reason} Use Bash with a program that understands it.", code="unsupported")
    at = _first_misfit(head)
    line = head.count(b"\n", 0, at) + 1
    reason = f"{name} is not UTF-8 (byte 0x{head[at]:02x} in line {line}), and its encoding cannot be detected."
    return ToolError(f'{reason} Read it again and give the encoding, such as encoding="cp1252".', code="unsupported")


def _first_misfit(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return 0
