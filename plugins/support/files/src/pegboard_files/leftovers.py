"""Remove files that a killed process left half-written: they are recorded first, and removed at the next start.

The name of such a file begins with the id of its host, which tells the notes of a dead host from those of a live one.
Only notes whose host has no record must be old before they count.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

from pegboard.settings import private_folder
from pegboard_hosts import DeadHost, Note, host_id
from pegboard_hosts import note as note_leftover

NAME = re.compile(r"\.pegboard-[0-9a-f]{24}\.part")
OLD_SECONDS = 600
"""No write takes this long, so the process that began it is gone."""


def new_name() -> str:
    """A name for a file that is being written: short whatever the target is called, and recognisably ours."""
    return f".pegboard-{host_id()}{secrets.token_hex(4)}.part"


def remove(host: DeadHost, names: list[str]) -> None:
    """Remove what a dead host left half-written. The names are those of the folders with its notes."""
    for folder in names:
        Leftovers(Path(folder)).remove_old(older_than=0, host=host.id)


class Leftovers:
    """The notes of what is being written. Without a folder for them nothing is noted and nothing is found again."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._guard, self._writes = threading.Lock(), 0
        self._host: Note | None = None

    def note(self, part: Path) -> Path | None:
        """Say that this file is about to be made; hand what is returned to `done` when it is gone."""
        if self._folder is None:
            return None
        note = self._folder / part.name[1:]
        try:
            note.write_bytes(os.fsencode(part))
        except FileNotFoundError:
            if private_folder(self._folder) is None:
                return None
            with suppress(OSError):
                note.write_bytes(os.fsencode(part))
        except OSError:
            return None
        with self._guard:
            self._writes += 1
            if self._writes == 1:
                self._host = note_leftover("parts", str(self._folder))
        return note

    def done(self, note: Path | None) -> None:
        """The file has been renamed or removed."""
        if note is not None:
            with suppress(OSError):
                note.unlink(missing_ok=True)
            with self._guard:
                self._writes -= 1
                if self._host and not self._writes:
                    self._host.done()
                    self._host = None

    def remove_old(self, older_than: float = OLD_SECONDS, host: str = "") -> list[Path]:
        """Remove what was left behind, by one host or by all: only files we noted, with our kind of name, and old."""
        removed: list[Path] = []
        limit = time.time() - older_than
        for note in self._notes(f"pegboard-{host}"):
            with suppress(OSError, ValueError):
                if older_than and note.lstat().st_mtime >= limit:
                    continue
                part = Path(os.fsdecode(note.read_bytes()))
                if part.is_absolute() and NAME.fullmatch(part.name) and part.name[1:] == note.name:
                    found = _lstat(part)
                    if found and stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
                        part.unlink()
                        removed.append(part)
                note.unlink()
        return removed

    def _notes(self, start: str) -> list[Path]:
        if self._folder is None:
            return []
        try:
            return [Path(entry) for entry in os.scandir(self._folder) if entry.name.startswith(start)]
        except OSError:
            return []


def _lstat(part: Path) -> os.stat_result | None:
    try:
        return part.lstat()
    except FileNotFoundError:
        return None
