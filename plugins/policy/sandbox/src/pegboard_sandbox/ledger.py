"""Record the stand-ins for protected paths that do not exist, and remove them when no sandbox needs them.

A path that does not exist can only be held by mounting something over it, and a mount needs something to be mounted on.
That is visible outside. Removing it while a sandbox runs would lift the mount as well, so each run notes which paths it
relies on, and a stand-in goes only when every run that relies on it is over: the last one out removes it. The notes are
files: after a crash the next command that acts finds them. A host locks a note while it has runs that rely on it, and
each sandbox locks it for as long as it lives. The kernel releases both locks, so liveness is never guessed.
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

from pegboard.settings import state_dir
from pegboard_hosts import DeadHost, host_id
from pegboard_hosts import Note as Leftover
from pegboard_hosts import note as note_leftover

AT_ONCE = 4
ENDING = 10.0
"""Seconds that a sandbox may take to end after its process, or its host, has."""


@dataclass(slots=True)
class StandIns:
    """The stand-ins for missing paths in one run."""

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
class _LedgerEntry:
    """A note of this process. Runs that rely on the same share one."""

    holds: frozenset[str]
    made: frozenset[str]
    lock: int
    """The note, open and locked while this host has runs that rely on it; -1 when it has none."""
    runs: int = 0


class Ledger:
    """The notes of all sandboxes of this user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._notes: dict[str, _LedgerEntry] = {}
        """The notes of this process, by the names of their files."""
        self._leftover: Leftover | None = None

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Ledger:
        """The ledger in the state folder, or in a private temporary one where there is no home."""
        state = state_dir(env)
        place = Path(state, "sandbox") if state else Path(tempfile.gettempdir(), f"pegboard-sandbox-{os.getuid()}")
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(f"{place} belongs to another user.")
        return cls(place)

    @property
    def dirty(self) -> bool:
        """Whether a run of this process has ended and its stand-ins may be there still."""
        return any(not note.runs for note in list(self._notes.values()))

    @property
    def ending(self) -> bool:
        """Whether a run of this process has ended and its sandbox is about to."""
        names = [name for name, note in list(self._notes.items()) if not note.runs]
        return any(_is_locked(self.folder / name) for name in names)

    def begin(self, needed: StandIns) -> str:
        """Note what a run relies on, and make what bubblewrap cannot. Returns the note. Only while `alone`."""
        holds = frozenset((*needed.folders, *needed.files, *needed.relied_on))
        above = _above(needed.missing)  # these too: what a note does not name is never removed
        for name, note in self._notes.items():
            if note.holds >= holds and note.made.issuperset((*above, *needed.missing, *needed.files)):
                if not note.runs:
                    note.lock = _locked(f"{self.folder}/{name}")
                break
        else:
            name, note = self._write(needed, holds)
        note.runs += 1
        for folder in above:
            with suppress(FileExistsError):
                os.mkdir(folder, 0o755)
        for path, content in needed.files.items():
            _make_file(path, content)
        return f"{self.folder}/{name}"

    def end(self, note: str) -> None:
        """Take note that a run of this process is over."""
        own = self._notes[os.path.basename(note)]
        own.runs -= 1
        if not own.runs:
            os.close(own.lock)
            own.lock = -1

    def _write(self, needed: StandIns, holds: frozenset[str]) -> tuple[str, _LedgerEntry]:
        # Written before anything is created: after a crash, everything left behind is on record.
        if self._leftover is None:
            self._leftover = note_leftover("stand-ins", str(self.folder))
        name, made = f"{host_id()}-{secrets.token_hex(4)}.json", [*_above(needed.missing), *needed.missing]
        text = json.dumps({"holds": list(holds), "made": made, "files": needed.files})
        handle = os.open(f"{self.folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "wb") as file:
            file.write(text.encode())
        lock = _locked(f"{self.folder}/{name}")
        note = self._notes[name] = _LedgerEntry(holds, frozenset((*made, *needed.files)), lock)
        return name, note

    def sweep(self) -> None:
        """Remove what no run relies on any more.

        Removing a folder that was mounted on takes the kernel milliseconds. A few are removed at a time, so that the
        next run does not have to wait.
        """
        while self.folder.is_dir() and self._sweep_some():
            pass

    def _sweep_some(self) -> bool:
        removed = 0
        with self.alone():
            notes = {note: _read(note) for note in self.folder.glob("*.json")}
            live = {note for note in notes if self._is_live(note)}
            needed = {path for note in live for path in _with_parents(notes[note]["holds"])}
            dead = {note: notes[note] for note in notes.keys() - live}
            for said in dead.values():
                for path in said["files"].keys() - needed:
                    removed += _removed_file(path, said["files"][path])
            # Those of all notes together: the folder that one names may hold what only another one names.
            free = {path for said in dead.values() for path in said["made"]} - needed
            for path in sorted(free, key=len, reverse=True):
                removed += _removed(path)
                if removed >= AT_ONCE:
                    return True
            for note, said in dead.items():
                if needed.isdisjoint((*said["made"], *said["files"])):
                    note.unlink(missing_ok=True)
                    self._notes.pop(note.name, None)
            if not self._notes and self._leftover:
                self._leftover.done()
                self._leftover = None
        return False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all others from noting and removing."""
        # Not readable: a sandboxed process sees this folder and could otherwise hold the lock forever.
        handle = os.open(f"{self.folder}/lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o200)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _is_live(self, note: Path) -> bool:
        own = self._notes.get(note.name)
        return bool(own and own.runs) or _is_locked(note)


def remove(host: DeadHost, names: list[str]) -> None:
    """Remove the stand-ins that a dead host left. The names are those of the folders with its notes."""
    deadline = time.monotonic() + ENDING
    for folder in map(Path, names):
        while any(_is_locked(note) for note in folder.glob(f"{host.id}-*.json")):  # its sandbox ends with it, soon
            if time.monotonic() > deadline:
                raise TimeoutError(f"a sandbox of the dead host {host.id} still exists")
            time.sleep(0.01)
        Ledger(folder).sweep()


def _read(note: Path) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads(note.read_text())
    except ValueError:  # the host died while it wrote; then it has made nothing yet
        said = {}
    return {"holds": [], "made": [], "files": {}} | said


def _locked(note: str) -> int:
    """A note of this host, open and locked; by the other kind of lock than bubblewrap's, which any close would undo."""
    handle = os.open(note, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def _is_locked(note: Path) -> bool:
    """Whether a host or a sandbox relies on a note."""
    try:
        file = open(note, "r+b")  # noqa: SIM115 -- closed below
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def parents(paths: Iterable[str]) -> set[str]:
    """The parent folders of paths. There are many paths and few folders."""
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
    """Remove a stand-in, unless something outside the sandbox now uses it."""
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
