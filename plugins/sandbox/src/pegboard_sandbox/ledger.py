"""Remember the empty folders that stand in for protected paths, and remove them when no sandbox needs them.

A path that does not exist can only be held by mounting something over it, and a mount needs a folder to be mounted on.
That folder is visible outside. Removing it while a sandbox runs would lift the mount as well, so each run notes which
paths it relies on, and a stand-in goes only when every run that relies on it is over. The notes are files: after a
crash the next start finds them.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pegboard.settings import places

STARTING = 10.0
"""Seconds that a run may take from its note to its start."""
AT_ONCE = 4
OVER = b'"exit-code"'
"""What bubblewrap writes to its status when it ends."""


class Ledger:
    """The notes of all sandboxes of this user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dirty = True
        """Whether there may be something to remove."""
        self._standing: dict[str, int] = {}
        """Stand-ins that this process made, and when: one that has changed since is somebody's folder."""

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Ledger:
        """The ledger in the state folder, or in a private temporary one where there is no home."""
        state = places.state_dir(env)
        place = Path(state, "sandbox") if state else Path(tempfile.gettempdir(), f"pegboard-sandbox-{os.getuid()}")
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.stat().st_uid != os.getuid():
            raise PermissionError(f"{place} belongs to somebody else.")
        return cls(place)

    def begin(self, held: list[str], refused: list[str]) -> tuple[str, list[str]]:
        """Make stand-ins for the held paths that are missing. Returns the run's status file and the missing paths.

        What is `refused` cannot be held without breaking the program that looks for it; if the run makes it, it is
        removed afterwards.
        """
        with self._alone():
            note = self.folder / f"{secrets.token_hex(8)}.json"
            changed = {path: _changed(path) for path in held}
            absent = [path for path in held if not changed[path]]
            folders = list(dict.fromkeys(folder for path in absent for folder in _new_folders(path)))
            refused = [path for path in refused if not os.path.lexists(path)]
            # Written first: a crash after it leaves nothing that nobody knows of.
            note.write_text(json.dumps({"holds": held, "made": folders, "refused": refused}))
            standing = [path for path in held if changed[path] and self._standing.get(path) == changed[path]]
            for folder in folders:
                os.mkdir(folder, 0o755)
            self._standing |= {path: _changed(path) for path in absent}
            self.dirty = True
        return str(note.with_suffix(".status")), [*absent, *standing]

    def sweep(self) -> None:
        """Remove what no run relies on any more.

        To remove a folder that was mounted on takes the kernel milliseconds. A few at a time keep nobody waiting who
        wants to start the next run.
        """
        while self.folder.is_dir() and self._sweep_some():
            pass

    def _sweep_some(self) -> bool:
        removed = 0
        with self._alone():
            notes = {note: json.loads(note.read_text()) for note in self.folder.glob("*.json")}
            live = {note for note in notes if _is_live(note)}
            needed = {path for note in live for path in _with_parents(notes[note]["holds"])}
            self.dirty = bool(notes)
            for note in notes.keys() - live:
                _remove_refused(notes[note]["refused"])
                free = [path for path in notes[note]["made"] if path not in needed]
                for path in sorted(free, key=len, reverse=True):
                    self._standing.pop(path, None)
                    removed += _removed(path)
                    if removed == AT_ONCE:
                        return True
                if len(free) == len(notes[note]["made"]):
                    note.with_suffix(".status").unlink(missing_ok=True)
                    note.unlink()
            self.dirty = any(self.folder.glob("*.json"))
        return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _new_folders(path: str) -> list[str]:
    """The path and those above it that do not exist, outermost first."""
    found = [path]
    while not os.path.lexists(parent := os.path.dirname(found[0])):
        found.insert(0, parent)
    return found


def _changed(path: str) -> int:
    """When a path changed last; 0 when there is none."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _removed(path: str) -> bool:
    """Remove a stand-in; not one that somebody outside has put to use."""
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


def _remove_refused(paths: list[str]) -> None:
    for path in paths:
        with suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(path)


def _with_parents(paths: list[str]) -> Iterator[str]:
    for path in paths:
        yield path
        yield os.path.dirname(path)


def _is_live(note: Path) -> bool:
    try:
        status = note.with_suffix(".status").read_bytes()
    except FileNotFoundError:
        status = b""
    first = status.partition(b"\n")[0]
    if not first.isdigit():
        return time.time() - note.stat().st_mtime < STARTING
    return OVER not in status and os.path.exists(f"/proc/{first.decode()}")
