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
    relied_on: list[str] = field(default_factory=list)
    """What is there and may be the stand-in of an earlier run: it must not go before this one has ended."""

    def __bool__(self) -> bool:
        return bool(self.folders or self.files or self.relied_on)


@dataclass(slots=True)
class _Note:
    """A note of this process. Runs that rely on the same share one."""

    holds: frozenset[str]
    made: frozenset[str]
    runs: int = 0


class Ledger:
    """The notes of all sandboxes of this user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._notes: dict[str, _Note] = {}
        """The notes of this process, by the names of their files."""

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
        return any(not note.runs for note in list(self._notes.values()))

    def begin(self, needed: StandIns) -> str:
        """Note what a run relies on, and make what bubblewrap cannot. Returns the note. Only while `alone`."""
        holds = frozenset((*needed.folders, *needed.files, *needed.relied_on))
        for name, note in self._notes.items():
            if note.holds >= holds and note.made.issuperset((*needed.missing, *needed.files)):
                os.utime(f"{self.folder}/{name}")  # other hosts take an old note without a lock for one that is over
                break
        else:
            name, note = self._write(needed, holds)
        note.runs += 1
        for folder in _above(needed.missing):
            with suppress(FileExistsError):
                os.mkdir(folder, 0o755)
        for path, content in needed.files.items():
            _make_file(path, content)
        return f"{self.folder}/{name}"

    def end(self, note: str) -> None:
        """Take note that a run of this process is over."""
        self._notes[os.path.basename(note)].runs -= 1

    def _write(self, needed: StandIns, holds: frozenset[str]) -> tuple[str, _Note]:
        # Written before anything is made: a crash after it leaves nothing that nobody knows of.
        name, made = f"{secrets.token_hex(8)}.json", [*_above(needed.missing), *needed.missing]
        text = json.dumps({"holds": list(holds), "made": made, "files": needed.files})
        handle = os.open(f"{self.folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "wb") as file:
            file.write(text.encode())
        note = self._notes[name] = _Note(holds, frozenset((*made, *needed.files)))
        return name, note

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
                    self._notes.pop(note.name, None)
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
        own = self._notes.get(note.name)
        if (own and own.runs) or _is_locked(note):
            return True
        return own is None and time.time() - note.stat().st_mtime < STARTING


def _read(note: Path) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads(note.read_text())
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


def _above(paths: Iterable[str]) -> list[str]:
    """The folders above missing paths that are missing as well, outermost first."""
    return list(dict.fromkeys(folder for path in parents(paths) for folder in _new_folders(path)))


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
