"""Positions and addresses of the protocol: columns count UTF-16 units from 0, files are `file:` URIs."""

from __future__ import annotations

import os
import re
import stat
from urllib.parse import quote, unquote, urlsplit

LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line for a server. `str.splitlines` knows more, such as form feeds, and would count wrongly."""
MOST_BYTES = 10_000_000


def lines_of(text: str) -> list[str]:
    """The lines of a text as a server counts them, without their ends."""
    return LINE_END.split(text)


def units(text: str) -> int:
    """How many UTF-16 units a text has: two for each character outside the basic plane."""
    return len(text) + sum(character > "\uffff" for character in text)


def to_units(line: str, column: int) -> int:
    """The column of the protocol for a column that counts characters from 0; past the end it is the end."""
    return units(line[: max(column, 0)])


def to_column(line: str, unit: int) -> int:
    """The column in characters from 0 for a column of the protocol; inside a character it is that character."""
    at = 0
    for column, character in enumerate(line):
        at += 2 if character > "\uffff" else 1
        if at > unit:
            return column
    return len(line)


def uri_of(path: str) -> str:
    """The URI of a file with an absolute path."""
    return "file://" + quote(os.fsencode(path))


def path_of(uri: object) -> str | None:
    """The absolute path of a `file:` URI on this machine; None for everything else."""
    if not isinstance(uri, str):
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = os.path.normpath(unquote(parts.path, errors="surrogateescape"))
    return path if path.startswith("/") and "\0" not in path else None


def text_of_file(path: str) -> str | None:
    """The text of a regular file as servers read it; None for one that is too large or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            raw = file.read(MOST_BYTES + 1)
    except OSError:
        return None
    return raw.decode("utf-8", "replace").removeprefix("\ufeff") if len(raw) <= MOST_BYTES else None
