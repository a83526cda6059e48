"""Files that a killed process left half-written: noted before they are made, removed when the next one starts."""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

from pegboard.host.results import private_folder

NAME = re.compile(r"\.pegboard-[0-9a-f]{16}\.part")
OLD_SECONDS = 600
"""No write takes this long, so whoever began it is gone."""


def new_name() -> str:
    """A name for a file that is being written: short whatever the target is called, and recognisably ours."""
    return f".pegboard-{secrets.token_hex(8)}.part"


class Leftovers:
    """The notes of what is being written. Without a folder for them nothing is noted and nothing is found again."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

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
        return note

    def done(self, note: Path | None) -> None:
        """The file has been renamed or removed."""
        if note is not None:
            with suppress(OSError):
                note.unlink(missing_ok=True)

    def remove_old(self, older_than: float = OLD_SECONDS) -> list[Path]:
        """Remove what was left behind: only files we noted, with our kind of name, our own, and old."""
        removed: list[Path] = []
        limit = time.time() - older_than
        for note in self._notes():
            with suppress(OSError, ValueError):
                if note.lstat().st_mtime >= limit:
                    continue
                part = Path(os.fsdecode(note.read_bytes()))
                if part.is_absolute() and NAME.fullmatch(part.name) and part.name[1:] == note.name:
                    found = _lstat(part)
                    if found and stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
                        part.unlink()
                        removed.append(part)
                note.unlink()
        return removed

    def _notes(self) -> list[Path]:
        if self._folder is None:
            return []
        try:
            return [Path(entry) for entry in os.scandir(self._folder)]
        except OSError:
            return []


def _lstat(part: Path) -> os.stat_result | None:
    try:
        return part.lstat()
    except FileNotFoundError:
        return None
