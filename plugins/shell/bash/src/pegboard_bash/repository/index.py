"""The names in git's index, read without git."""

from __future__ import annotations

import os
import struct

LARGEST = 50_000_000
HEADER = struct.Struct(">4sII")
FIXED, EXTENDED = 62, 0x4000


def tracked(path: str) -> list[str] | None:
    """The files that git tracks, from the top of the repository; None where the index is not understood."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return []
    except OSError:
        return None
    if len(data) < HEADER.size or len(data) > LARGEST:
        return None
    magic, version, count = HEADER.unpack_from(data)
    # Version 4 compresses each name against the one before; it is rare.
    return _names(data, count) if magic == b"DIRC" and version in (2, 3) else None


def _names(data: bytes, count: int) -> list[str] | None:
    found: list[str] = []
    at = HEADER.size
    for _ in range(count):
        if at + FIXED > len(data):
            return None
        flags = int.from_bytes(data[at + 60 : at + 62], "big")
        begin = at + FIXED + (2 if flags & EXTENDED else 0)
        end = data.find(b"\0", begin)
        if end < 0:
            return None
        found.append(os.fsdecode(data[begin:end]))
        at += (end - at + 8) // 8 * 8  # Entries are filled with NUL to a multiple of eight, at least with one.
    return found
