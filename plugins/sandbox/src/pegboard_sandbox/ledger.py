"""Remember what stands in for protected paths that do not exist, and remove it when no sandbox needs it.

A path that does not exist can only be held by mounting something over it, and a mount needs something to be mounted on.
That is visible outside. Removing it while a sandbox runs would lift the mount as well, so each run notes which paths it
relies on, and a stand-in goes only when every run that relies on it is over. The notes are files: after a crash the
next start finds them. Each sandbox locks its note for as long as it lives, and the kernel undoes the lock with it.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pegboard.settings import places

STARTING = 10.0
"""Seconds that a run of another host may take from its note to its lock."""
AT_ONCE = 4


@dataclass(slots=True)
class StandIns:
    """What stands in for missing paths in one run."""

    folders: list[str] = field(default_factory=list)
    """Empty folders that the run relies on, missing or not."""
    missing: list[str] = field(default_factory=list)
    """Those that do not exist. Bubblewrap makes the last folder of each, since it mounts there anyway."""
    files: dict[str, str] = field(default_factory=dict)
    """Missing files, and the content with which they mean nothing."""


class Ledger:
    """The notes of all sandboxes of this user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: set[str] = set()
        """Notes of this process whose runs have not ended."""
        self._ended: set[str] = set()

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Ledger:
        """The ledger in the state folder, or in a private temporary one where there is no home."""
        state = places.state_dir(env)
        place = Path(state, "sandbox") if state else Path(tempfile.gettempdir(), f"pegboard-sandbox-{os.getuid()}")
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(f"{place} belongs to somebody else.")
        return cls(place)

    @property
    def dirty(self) -> bool:
        """Whether a run of this process has ended and its stand-ins may be there still."""
        return bool(self._ended)

    def begin(self, needed: StandIns) -> str:
        """Note what a run relies on, and make what bubblewrap cannot. Returns the note. Only while `alone`."""
        name = f"{secrets.token_hex(8)}.json"
        note = f"{self.folder}/{name}"
        above = dict.fromkeys(folder for path in parents(needed.missing) for folder in _new_folders(path))
        # Written first: a crash after it leaves nothing that nobody knows of.
        text = json.dumps({"holds": [*needed.folders, *needed.files], "made": [*above, *needed.missing], "files": needed.files})
        handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)
        self._running.add(name)
        for folder in above:
            with suppress(FileExistsError):
                os.mkdir(folder, 0o755)
        for path, content in needed.files.items():
            _make_file(path, content)
        return note

    def end(self, note: str) -> None:
        """Take note that a run of this process is over."""
        name = os.path.basename(note)
        if name in self._running:
            self._running.discard(name)
            self._ended.add(name)

    def sweep(self) -> None:
        """Remove what no run relies on any more.

        To remove a folder that was mounted on takes the kernel milliseconds. A few at a time keep nobody waiting who
        wants to start the next run.
        """
        while self.folder.is_dir() and self._sweep_some():
            pass

    def _sweep_some(self) -> bool:
        removed = 0
        with self.alone():
            notes = {note: _read(note) for note in self.folder.glob("*.json")}
            live = {note for note in notes if self._is_live(note)}
            needed = {path for note in live for path in _with_parents(notes[note]["holds"])}
            for note in notes.keys() - live:
                said = notes[note]
                for path in said["files"].keys() - needed:
                    removed += _removed_file(path, said["files"][path])
                free = [path for path in said["made"] if path not in needed]
                for path in sorted(free, key=len, reverse=True):
                    removed += _removed(path)
                    if removed >= AT_ONCE:
                        return True
                if len(free) == len(said["made"]) and needed.isdisjoint(said["files"]):
                    note.unlink(missing_ok=True)
                    self._ended.discard(note.name)
        self._ended &= {note.name for note in notes}
        return False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all others from noting and removing."""
        # Nobody may open it for reading: a sandboxed process sees this folder, and could keep the lock for ever.
        handle = os.open(f"{self.folder}/lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o200)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _is_live(self, note: Path) -> bool:
        if note.name in self._running or _is_locked(note):
            return True
        return note.name not in self._ended and time.time() - note.stat().st_mtime < STARTING


def _read(note: Path) -> dict[str, Any]:
    try:
        said = json.loads(note.read_text())
    except ValueError:  # the host died while it wrote; then it has made nothing yet
        said = {}
    return {"holds": [], "made": [], "files": {}} | said


def _is_locked(note: Path) -> bool:
    with open(note, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def parents(paths: Iterable[str]) -> set[str]:
    """The folders in which paths lie. There are many paths and few folders."""
    return {path[: path.rfind("/")] for path in paths}


def _new_folders(path: str) -> list[str]:
    """The path and those above it as far as they do not exist, outermost first."""
    found: list[str] = []
    while not os.path.lexists(path):
        found.insert(0, path)
        path = os.path.dirname(path)
    return found


def _make_file(path: str, content: str) -> None:
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            os.write(handle, content.encode())
        finally:
            os.close(handle)


def _removed(path: str) -> bool:
    """Remove a stand-in; not one that somebody outside has put to use."""
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


def _removed_file(path: str, content: str) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            same = stat.S_ISREG(os.fstat(handle).st_mode) and os.read(handle, 64) == content.encode()
        finally:
            os.close(handle)
        if same:
            os.unlink(path)
    except OSError:
        return False
    return same


def _with_parents(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield path
        yield os.path.dirname(path)
