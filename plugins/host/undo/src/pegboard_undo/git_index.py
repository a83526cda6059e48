"""Which files git tracks, read from its index without running git: what a repository names is never run."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ENTRY = struct.Struct(">10I20sH")
"""Times, device, inode, mode, owner, group, size, the name of the blob, flags."""
NAME_LENGTH, EXTENDED, STAGES = 0x0FFF, 0x4000, 0x3000
LARGEST = 100_000_000
SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file as the index knows it."""

    blob: str
    size: int
    mtime: tuple[int, int]
    index_mtime_ns: int

    def is_clean(self, found: os.stat_result) -> bool:
        """Whether the file has the bytes of the blob, by size and time; a time as young as the index proves nothing."""
        same = self.size == found.st_size and self.mtime == divmod(found.st_mtime_ns, 1_000_000_000)
        return same and found.st_mtime_ns < self.index_mtime_ns


def find_repository(cwd: Path) -> tuple[Path, Path] | None:
    """The root of the checkout around a folder, and its index."""
    for folder in (cwd, *cwd.parents):
        entry = folder / ".git"
        if entry.is_dir():
            return folder, entry / "index"
        if entry.is_file():
            words = entry.read_text(errors="replace")[:4096]
            if not words.startswith("gitdir:"):
                return None
            return folder, folder / words.removeprefix("gitdir:").strip() / "index"
    return None


def read_index(root: Path, index: Path) -> dict[str, IndexedFile]:
    """The tracked files by their absolute paths; none where the index cannot be read."""
    try:
        descriptor = os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
                return {}
            data = file.read()
        return _entries(root, data, found.st_mtime_ns)
    except (OSError, struct.error, ValueError, IndexError):
        return {}


def _entries(root: Path, data: bytes, index_mtime_ns: int) -> dict[str, IndexedFile]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return {}
    made: dict[str, IndexedFile] = {}
    place, name = 12, b""
    for _ in range(count):
        _, _, seconds, nanoseconds, _, _, mode, _, _, size, blob, flags = ENTRY.unpack_from(data, place)
        begin = place + ENTRY.size + (2 if flags & EXTENDED else 0)
        if version == 4:
            drop, begin = _number(data, begin)
            end = data.index(b"\0", begin)
            name, place = name[: len(name) - drop] + data[begin:end], end + 1
        else:
            end = data.index(b"\0", begin)
            name, place = data[begin:end], place + (end - place + 8) // 8 * 8
        if stat.S_ISREG(mode) and not flags & STAGES:
            indexed = IndexedFile(blob.hex(), size, (seconds, nanoseconds), index_mtime_ns)
            made[os.path.join(root, os.fsdecode(name))] = indexed
    return made


def _number(data: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    byte = data[place]
    value = byte & 127
    while byte & 128:
        place += 1
        byte = data[place]
        value = ((value + 1) << 7) | (byte & 127)
    return value, place + 1


def read_blobs(root: Path | None, names: Sequence[str]) -> dict[str, bytes]:
    """The bytes of blobs, as far as the repository has them. No filter and no fetch is run."""
    if root is None or not names:
        return {}
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "cat-file", "--batch"]
    asked = "".join(f"{name}\n" for name in dict.fromkeys(names)).encode()
    try:
        done = subprocess.run(
            command, cwd=root, env=env, input=asked, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return _blobs(done.stdout)


def _blobs(output: bytes) -> dict[str, bytes]:
    made: dict[str, bytes] = {}
    place = 0
    while (end := output.find(b"\n", place)) >= 0:
        name, kind, *size = output[place:end].decode("ascii", "replace").split(" ")
        place = end + 1
        if kind == "blob" and size:
            made[name] = output[place : place + int(size[0])]
            place += int(size[0]) + 1
    return made
