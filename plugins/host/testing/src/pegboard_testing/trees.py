"""A small folder to run tools in, and a way to see what they did to it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

FILES: dict[str, bytes] = {
    "notes.txt": b"alpha\nbeta\ngamma\n",
    "data.json": b'{"name": "alpha", "values": [1, 2, 3]}\n',
    "empty.txt": b"",
    "large.txt": b"".join(b"line %d of a long text\n" % number for number in range(4000)),
    "binary.bin": bytes(range(256)),
    "folder/inner.py": b"def alpha() -> int:\n    return 1\n",
}
"""What is in the tree when a call begins; examples may name these files."""

NAMES = ["notes.txt", "folder/inner.py", "empty.txt", "large.txt", "missing.txt", "folder", "binary.bin"]
"""What an invented path may be: files, a folder, and a name that is not there."""

Snapshot = dict[str, tuple[int, str]]


def plant(folder: Path) -> Path:
    """Make the sample tree."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def snapshot(folder: Path) -> Snapshot:
    """Every entry with its mode and its bytes, or where it points; times are left out, because reading moves them."""
    found: Snapshot = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            mode = path.lstat().st_mode
            found[str(path.relative_to(folder))] = (mode, _content(path))
    return found


def _content(path: Path) -> str:
    if path.is_symlink():
        return os.readlink(path)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """The names that were made, changed or removed."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
