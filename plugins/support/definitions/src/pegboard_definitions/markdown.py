"""One definition on disk: a Markdown file with fields between two lines of dashes. Every fault has a line."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

if TYPE_CHECKING:
    from pegboard_definitions.fields import Fields

LARGEST = 256_000
LONGEST_HEAD = 16_000
"""A repository may hold any file: what is parsed is bounded."""
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
UNSEEN = ("Cc", "Cf", "Cs")
SEEN_AFTER_ALL = "\n\t\u200c\u200d"
"""Control characters and marks of direction change what a person sees; joiners belong to scripts and pictures."""


class FaultError(Exception):
    """The file cannot be used; the message begins with file and line."""


class NoFieldsError(FaultError):
    """The file has no fields: it is a text that happens to lie here."""


@dataclass(frozen=True, slots=True)
class Markdown:
    """The fields of a file, the line of each, and the text below them."""

    path: Path
    fields: Fields = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    body: str = ""
    remarks: tuple[str, ...] = ()
    """What the author should know about the file, as sentences that begin with file and line."""
    quiet: tuple[str, ...] = ()
    """The same about what was read although it is not quite right."""

    def place(self, name: str) -> str:
        """File and line of a field."""
        return f"{self.path}:{self.lines.get(name, 2)}"

    def fault(self, name: str, what: str) -> FaultError:
        """An error about a field."""
        return FaultError(f"{self.place(name)}: {name} {what}")

    def text(self, name: str) -> str:
        """A field that is text, without blanks around it; empty where there is none."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            raise self.fault(name, f"must be text, got {value!r}.")
        if odd := unseen(value or ""):
            raise self.fault(name, f"contains the character U+{ord(odd):04X}, which is not allowed.")
        return (value or "").strip()

    def truth(self, name: str, default: bool) -> bool:
        """A field that is true or false."""
        value = self.fields.get(name, default)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fault(name, f"must be true or false, got {value!r}.")
        return value

    def names(self, name: str, *, blanks: bool = False) -> tuple[str, ...] | None:
        """A list of names: a YAML list, or text with commas, or with `blanks` also blanks, outside parentheses."""
        if name not in self.fields:
            return None
        value: Any = [] if self.fields[name] is None else self.fields[name]
        if isinstance(value, str):
            value = split_names(value, blanks=blanks)
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise self.fault(name, f"must be a list of tool names, got {value!r}.")
        return tuple(item.strip() for item in value)


def read_markdown(
    path: Path, *, text_fields: Collection[str] = (), known: Collection[str] = (), needs_fields: bool = True
) -> Markdown:
    """The definition in a file; raises `FaultError`, where fields are needed and missing a `NoFieldsError`.

    A field in `text_fields` that is no valid YAML is read as plain text. `known` are all fields that mean something.
    """
    # Imported here because an index answers most of the time, and a parser is not free.
    from pegboard_definitions.fields import FieldsError
    from pegboard_definitions.lenient_fields import read_lenient_fields

    remarks: list[str] = []
    raw = _bytes(path)
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
        remarks.append(f"{path}:1: The file begins with a byte order mark, which is ignored. Save it without one.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FaultError(f"{path}:{line}: This is not UTF-8 text.") from None
    try:
        head, body = _split(path, text)
    except NoFieldsError:
        if needs_fields:
            raise
        return Markdown(path, body=text.strip(), remarks=tuple(remarks))
    if not needs_fields and not head.strip():
        return Markdown(path, body=body, remarks=tuple(remarks))
    try:
        fields, lines, as_text = read_lenient_fields(head, text_fields, known)
    except FieldsError as fault:
        raise FaultError(f"{path}:{fault.line + 1}: {fault}") from None
    lines = {name: line + 1 for name, line in lines.items()}
    quiet = [f"{path}:{lines[name]}: {name} is read as plain text. {reason}" for name, reason in as_text.items()]
    return Markdown(path, fields, lines, body, tuple(remarks), tuple(quiet))


def unseen(text: str) -> str:
    """The first character that a person does not see, or sees as something else; empty where there is none."""
    return next((char for char in text if category(char) in UNSEEN and char not in SEEN_AFTER_ALL), "")


def split_names(text: str, *, blanks: bool = False) -> list[str]:
    """The parts of a text between commas (and blanks) outside parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")" and depth > 0)
        if not depth and (char == "," or (blanks and char.isspace())):
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part.strip()]


def _bytes(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FaultError(f"{path}:1: The file cannot be read: {error.strerror}.") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FaultError(f"{path}:1: This is not a file.")
        with open(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        raise FaultError(f"{path}:1: The file cannot be read: {error.strerror}.") from None
    finally:
        os.close(descriptor)
    if len(raw) > LARGEST:
        raise FaultError(f"{path}:1: The file is larger than {LARGEST} bytes.")
    return raw


def _split(path: Path, text: str) -> tuple[str, str]:
    lines = LINE.findall(text)  # Not `splitlines`: a description may hold U+2028.
    if not lines or lines[0].rstrip() != "---":
        raise NoFieldsError(
            f"{path}:1: Expected a first line of three dashes, then name and description, then three dashes."
        )
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            head = "".join(lines[1:number])
            if len(head) > LONGEST_HEAD:
                raise FaultError(f"{path}:2: The fields have more than {LONGEST_HEAD} characters.")
            return head, "".join(lines[number + 1 :]).strip()
    raise FaultError(f"{path}:1: The three dashes that end the fields are missing.")
