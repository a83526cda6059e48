"""What files were before a command, found by their times alone where possible.

files that git tracks and that are as committed    → git has their bytes
files that were copied before and have not changed → the copy is there
all others                                         → copied now, within a limit of time and size
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard.settings import state_dir
from pegboard_files import UndoStore
from pegboard_undo.git_index import IndexedFile, find_repository, read_blobs, read_index

LARGEST = 5_000_000
"""How many bytes of a file are copied."""
MOST_CHANGES = 2_000
"""How many changed files of one command are noted."""
SETTLED_NS = 50_000_000
"""A file changed this recently may change again without its times telling."""

Signature = tuple[int, int, int, int]


class CheckpointError(Exception):
    """Why a command is not covered, as a sentence."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happened to a file. A digest is empty where there was no file."""

    path: Path
    before: str
    after: str
    stored: Path | None
    mode: int

    def as_data(self) -> dict[str, Any]:
        """For a transcript."""
        stored = str(self.stored) if self.stored else None
        about = {"path": str(self.path), "before": self.before, "after": self.after}
        return {**about, "stored": stored, "mode": self.mode}


@dataclass(frozen=True, slots=True)
class Kept:
    """A file as it was. Without a signature there was none; without digest and blob its bytes are not kept."""

    signature: Signature | None = None
    mode: int = 0
    digest: str = ""
    stored: Path | None = None
    blob: str = ""


@dataclass(slots=True)
class Checkpoint:
    """All files that a command may change and that are known."""

    root: Path | None
    files: dict[Path, Kept] = field(default_factory=dict)


class Checkpoints:
    """Takes checkpoints, and knows the copies of earlier ones."""

    def __init__(self, most_ms: float) -> None:
        state = state_dir(os.environ)
        self._store = UndoStore(Path(state) / "undo" if state else None)
        self._most_ms = most_ms
        self._copies: dict[Path, Kept] = {}

    def take(self, cwd: Path, touched: Iterable[Path]) -> Checkpoint:
        """A checkpoint. A `CheckpointError` says why there is none; the next one continues where this gave up."""
        deadline = time.monotonic() + self._most_ms / 1000
        repository = find_repository(cwd)
        made = Checkpoint(repository[0] if repository else None)
        tracked = read_index(*repository) if repository else {}
        for path in dict.fromkeys((*(Path(os.path.realpath(path)) for path in touched), *tracked)):
            made.files[path] = self._keep(path, tracked.get(path))
            if time.monotonic() > deadline:
                raise CheckpointError(f"a checkpoint would take more than {self._most_ms:g} ms.")
        return made

    def _keep(self, path: Path, indexed: IndexedFile | None) -> Kept:
        try:
            found = os.lstat(path)
        except OSError:
            return Kept()
        signature, mode = _signature(found), stat.S_IMODE(found.st_mode)
        if not stat.S_ISREG(found.st_mode):
            return Kept(signature, mode)
        if indexed and indexed.is_clean(found):
            return Kept(signature, mode, blob=indexed.blob)
        copy = self._copies.get(path)
        if copy and copy.signature == signature:
            return copy
        if found.st_size > LARGEST:
            return Kept(signature, mode)
        data = _read(path)
        digest = _digest(data)
        made = Kept(signature, mode, digest, self._store.keep(data, digest))
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > SETTLED_NS:
            self._copies[path] = made
        return made

    def changes_since(self, checkpoint: Checkpoint) -> Iterator[FileChange]:
        """What is different now. Files whose earlier bytes were not kept are noted without them."""
        changed = [(path, kept) for path, kept in checkpoint.files.items() if _now(path) != kept.signature]
        if len(changed) > MOST_CHANGES:
            raise CheckpointError(f"it changed {len(changed):,} files, and at most {MOST_CHANGES:,} are noted.")
        blobs = read_blobs(checkpoint.root, [kept.blob for _, kept in changed if kept.blob])
        for path, kept in changed:
            before, stored = kept.digest, kept.stored
            if kept.blob:
                before, stored = self._from_git(blobs.get(kept.blob), kept)
            after = file_digest(path)
            if (kept.signature is None and not after) or (before and before == after):
                continue
            yield FileChange(path, before or ("unknown" if kept.signature else ""), after, stored, kept.mode)

    def _from_git(self, data: bytes | None, kept: Kept) -> tuple[str, Path | None]:
        """The bytes of a tracked file; where a filter or line endings made the file differ, they are not known."""
        if data is None or kept.signature is None or len(data) != kept.signature[2]:
            return "", None
        digest = _digest(data)
        return digest, self._store.keep(data, digest)


def file_digest(path: Path) -> str:
    """The digest of a regular file; empty where there is none."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return "not a file"
        return _digest(_read(path))
    except FileNotFoundError:
        return ""
    except OSError:
        return "unreadable"


def _now(path: Path) -> Signature | None:
    try:
        return _signature(os.lstat(path))
    except OSError:
        return None


def _signature(found: os.stat_result) -> Signature:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _read(path: Path) -> bytes:
    # Without waiting: a named pipe may have taken the place of the file.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
