"""What files were before a command, found by their times alone where possible.

files that git tracks and that are as committed    → git has their bytes
files that were copied before and have not changed → the copy is there
other files that git tracks or the session touched → copied now, within a limit of time and size
all other files of the folder                      → only listed: what is new afterwards can be removed
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from typing import Any

from pegboard.settings import state_dir
from pegboard.wording import counted
from pegboard_files import UndoStore
from pegboard_undo.file_list import Listing, list_files
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
    place: Path
    """The folder whose files were listed."""
    listing: Listing | None
    """All files of it; None where there are too many."""
    files: dict[str, Kept] = field(default_factory=dict)
    """Those whose earlier bytes are known."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different since a checkpoint."""

    files: list[FileChange]
    uncovered: str = ""
    """What of it cannot be taken back, as a sentence."""


class Checkpoints:
    """Takes checkpoints, and knows the copies of earlier ones."""

    def __init__(self, most_ms: float) -> None:
        self._state = state_dir(os.environ)
        self._store = UndoStore(Path(self._state) / "undo" if self._state else None)
        self._most_ms = most_ms
        self._copies: dict[str, Kept] = {}
        self._too_large: set[Path] = set()

    def take(self, cwd: Path, touched: Iterable[Path]) -> Checkpoint:
        """A checkpoint. A `CheckpointError` says why there is none; the next one continues where this gave up."""
        deadline = time.monotonic() + self._most_ms / 1000
        here = Path(os.path.realpath(cwd))
        repository = find_repository(here)
        place = repository[0] if repository else here
        made = Checkpoint(repository[0] if repository else None, place, self._list(place))
        tracked = read_index(*repository) if repository else {}
        for path in dict.fromkeys((*(os.path.realpath(path) for path in touched), *tracked)):
            found = made.listing.get(path) if made.listing else None
            if found is None and made.listing is not None and _is_listed_folder(path, place):
                continue
            made.files[path] = self._keep(path, tracked.get(path), found)
            if time.monotonic() > deadline:
                raise CheckpointError(f"a checkpoint would take more than {self._most_ms:g} ms.")
        return made

    def _list(self, place: Path) -> Listing | None:
        """The files of a folder, within half of the time. A folder that has too many is not tried again."""
        if place in self._too_large:
            return None
        listing = list_files(place, self._most_ms / 2000, self._state or "")
        if listing is None:
            self._too_large.add(place)
        return listing

    def _keep(self, path: str, indexed: IndexedFile | None, found: os.stat_result | None) -> Kept:
        try:
            found = found or os.lstat(path)
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

    def changes_since(self, checkpoint: Checkpoint, noted: Mapping[str, str]) -> Changes:
        """What is different now. Files whose earlier bytes were not kept are noted without them.

        `noted` has the files whose changes since then are known already, with what they became.
        """
        new, lost, why = self._unknown_changes(checkpoint)
        lost = [path for path in lost if path not in noted]
        changed = [(path, kept) for path, kept in checkpoint.files.items() if _now(path) != kept.signature]
        if len(changed) + len(new) > MOST_CHANGES:
            count = len(changed) + len(new)
            raise CheckpointError(f"it changed {count:,} files, and at most {MOST_CHANGES:,} are noted.")
        blobs = read_blobs(checkpoint.root, [kept.blob for _, kept in changed if kept.blob])
        made = [change for path, kept in changed if (change := self._change(path, kept, blobs))]
        made += [
            FileChange(path, "", digest, None, 0) for path in map(Path, new) if len(digest := file_digest(path)) == 64
        ]
        if lost:
            more = f" and {counted(len(lost) - 1, 'more file')}" if len(lost) > 1 else ""
            why = f"it changed or removed {lost[0]}{more}, which git does not track and the session had not read."
        return Changes([change for each in made if (change := _beyond(each, noted))], why)

    def _unknown_changes(self, checkpoint: Checkpoint) -> tuple[list[str], list[str], str]:
        """Files that are new, files that were changed and whose earlier bytes no one has, and what cannot be said."""
        place, before = checkpoint.place, checkpoint.listing
        # More time than before the command: it need not wait for this.
        now = list_files(place, self._most_ms * 5 / 1000, self._state or "") if before is not None else None
        if before is None or now is None:
            return [], [], f"{place} has too many files to see which ones it made."
        new = [path for path in now if path not in before and path not in checkpoint.files]
        lost = [
            path
            for path, found in before.items()
            if path not in checkpoint.files and (path not in now or _signature(now[path]) != _signature(found))
        ]
        return new, lost, ""

    def _change(self, path: str, kept: Kept, blobs: dict[str, bytes]) -> FileChange | None:
        before, stored = kept.digest, kept.stored
        if kept.blob:
            before, stored = self._from_git(blobs.get(kept.blob), kept)
        after = file_digest(Path(path))
        if (kept.signature is None and not after) or (before and before == after):
            return None
        return FileChange(Path(path), before or ("unknown" if kept.signature else ""), after, stored, kept.mode)

    def _from_git(self, data: bytes | None, kept: Kept) -> tuple[str, Path | None]:
        """The bytes of a tracked file; where a filter or line endings made the file differ, they are not known."""
        if data is None or kept.signature is None or len(data) != kept.signature[2]:
            return "", None
        digest = _digest(data)
        return digest, self._store.keep(data, digest)


def _is_listed_folder(path: str, place: Path) -> bool:
    """Whether it is a folder whose files are listed: a command may name it, and what counts is what is in it."""
    return os.path.isdir(path) and Path(path).is_relative_to(place)


def _beyond(change: FileChange, noted: Mapping[str, str]) -> FileChange | None:
    """What of a change is not noted yet. The bytes between two changes are not known."""
    known = noted.get(str(change.path))
    if known is not None:
        change = replace(change, before=known, stored=None)
    return None if change.before == change.after else change


def file_digest(path: Path) -> str:
    """The digest of a regular file; empty where there is none."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return "not a file"
        with _opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
    except OSError:
        return "unreadable"


def _now(path: str) -> Signature | None:
    try:
        return _signature(os.lstat(path))
    except OSError:
        return None


def _signature(found: os.stat_result) -> Signature:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _read(path: str) -> bytes:
    with _opened(path) as file:
        return file.read()


def _opened(path: str | Path) -> BufferedReader:
    # Without waiting: a named pipe may have taken the place of the file.
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
