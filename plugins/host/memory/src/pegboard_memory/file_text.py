"""Read one memory file: regular files only, as much of it as may be shown, whatever bytes it holds."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass

WIDEST = 4
"""Bytes of the longest character in UTF-8."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, as far as it may be shown."""

    text: str
    identity: tuple[int, int]
    """Device and inode: the same for every path that leads to this file."""
    size: int
    real: str = ""
    """The path of what was opened, without links; empty where the system does not tell."""
    is_cut: bool = False
    is_damaged: bool = False
    """Whether some bytes were not UTF-8; each is shown as U+FFFD."""


def read_file(path: str, limit: int) -> FileText | None:
    """The first `limit` characters; None where there is no regular file with text that can be read."""
    try:
        # Without waiting: a FIFO with this name must not hold up a session.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        real = _landing(descriptor)
        raw = _first_bytes(descriptor, limit * WIDEST + 3) if stat.S_ISREG(found.st_mode) else b"\0"
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if b"\0" in raw:
        return None
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    is_cut = len(text) > limit or found.st_size > len(raw)
    if is_cut:
        text = text[:limit]
        text = text[: text.rfind("\n") + 1] or text
    is_damaged = "\ufffd" in text and "\ufffd".encode() not in raw
    identity = (found.st_dev, found.st_ino)
    return FileText(text.replace("\r\n", "\n"), identity, found.st_size, real, is_cut, is_damaged)


def _landing(descriptor: int) -> str:
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{descriptor}")
    return ""


def _first_bytes(descriptor: int, most: int) -> bytes:
    raw = b""
    while len(raw) < most and (more := os.read(descriptor, most - len(raw))):
        raw += more
    return raw
