"""A text file that is about to be changed: its bytes, what they mean, and how new text must be written into it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pegboard import ToolError
from pegboard_files.encodings import (
    Charset,
    NotTextError,
    charset_of,
    decode,
    encode,
    is_stateful,
    mark_for,
    newline_of,
    view_of,
)
from pegboard_files.interface import FileState
from pegboard_files.safe_open import is_regular, open_approved
from pegboard_files.safe_write import digest, failure
from pegboard_files.text_style import declared_style, style_for_new

LARGEST = 64_000_000


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file as it is, and as it is shown: `view` has a line feed at the end of every line."""

    path: Path
    data: bytes
    digest: str
    """Empty for a file that does not exist yet."""
    encoding: str
    bom: bytes
    text: str
    newline: str
    mixed: bool
    takes_any_newline: bool = False
    """Whether the line ending is unknown; new text then keeps its own line endings."""

    @property
    def view(self) -> str:
        """The text as the model sees it."""
        return view_of(self.text, self.newline)

    def styled(self, view: str) -> str:
        """New text with this file's line ends."""
        if self.takes_any_newline:
            return view
        plain = view.replace("\r\n", "\n")
        return plain if self.newline == "\n" else plain.replace("\n", self.newline)

    def encoded(self, text: str) -> bytes:
        """The whole new text as bytes, mark included; a `ToolError` names a character that cannot be decoded."""
        return self.bom + encode(text, self.encoding, str(self.path))

    def state_for(self, text: str, *, complete: bool) -> FileState:
        """What to remember once `text` is written."""
        newline, mixed = newline_of(text)
        if "\n" not in text and "\r" not in text:
            newline = self.newline
        return FileState(
            "", 0, 0, encoding=self.encoding, newline=newline, mixed=mixed, bom=bool(self.bom), complete=complete
        )


def regular_bytes(path: Path, approved_paths: Mapping[str, bool] | None) -> bytes | None:
    """The bytes of a regular file, None where there is nothing; anything else is refused without opening it."""
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            raise ToolError(f"{path} is a directory. Give the path of a file in it.", code="unsupported")
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"{path} is not a regular file and cannot be changed.", code="unsupported")
        if found.st_size > LARGEST:
            reason = f"{path} is {found.st_size:,} bytes; the limit for changing a file is {LARGEST:,} bytes."
            raise ToolError(f"{reason} Use Bash with sed or a script.", code="too_large")
        descriptor = open_approved(path, approved_paths, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except ValueError:
        raise ToolError(f"{str(path)!r} is not a valid path: it contains a NUL character.") from None
    except OSError as error:
        raise failure(path, error) from None
    if not is_regular(descriptor):
        os.close(descriptor)
        raise ToolError(f"{path} changed while it was being opened. Try again.", code="stale")
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def text_file(path: Path, data: bytes, known: FileState | None) -> TextFile:
    """A file as text. The encoding that a reader detected stays valid as long as the bytes fit it."""
    charset = _charset(path, data, known)
    if is_stateful(charset.encoding):
        reason = f"{path} is {charset.encoding} text, in which part of the text cannot be replaced on its own."
        raise ToolError(f"{reason} Ask the user to convert it to UTF-8 first.", code="unsupported")
    body = data[len(charset.bom) :]
    text = decode(body, charset.encoding, str(path))
    newline, mixed = newline_of(text)
    bare = "\n" not in text and "\r" not in text
    return TextFile(path, data, digest(data), charset.encoding, charset.bom, text, newline, mixed, bare)


def refuse_lossy(file: TextFile) -> None:
    """Refuse encodings with two spellings for a character: rewriting would change other bytes."""
    if file.encoded(file.text) != file.data:
        reason = f"{file.path} has bytes that do not survive decoding and encoding as {file.encoding}."
        raise ToolError(f"{reason} Nothing was changed. Use Bash to change it byte by byte.", code="unsupported")


def new_text_file(path: Path) -> TextFile:
    """A file that does not exist yet, in the style its project and its siblings have."""
    style = style_for_new(Path(os.path.realpath(path)))
    encoding = style.encoding or "utf-8"
    mark = mark_for(encoding) if style.bom else b""
    return TextFile(path, b"", "", encoding, mark, "", style.newline or "\n", False, style.newline is None)


def _charset(path: Path, data: bytes, known: FileState | None) -> Charset:
    if known and known.encoding not in ("utf-8", "binary"):
        mark = mark_for(known.encoding)
        return Charset(known.encoding, mark if mark and data.startswith(mark) else b"", "known")
    try:
        return charset_of(data, declared=lambda: declared_style(Path(os.path.realpath(path))).encoding)
    except NotTextError as error:
        what = "is a binary file" if error.binary else "is not UTF-8 and its encoding is not declared"
        remedy = "It cannot be changed as text." if error.binary else "Read it first to find its encoding."
        raise ToolError(f"{path} {what}. {remedy}", code="unsupported") from None
