"""The folder with the transcripts: listing them and removing old ones."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path

from pegboard import PegboardError

DAY = 86_400
KEEP_DAYS = 30
KEEP_NEWEST = 20
SESSION, PROMPT = b'{"type":"session"', b'{"type":"prompt"'
"""How lines begin that say where a session is, and what the person wrote. Others need not be parsed to find one."""
TRASH_DAYS = 7
"""How long an expired transcript can be restored. A clock that is wrong for an hour must not delete anything."""


class TranscriptStore:
    """All transcripts of a user. Any number of processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.trash = folder, folder / ".trash"

    def all(self) -> list[Path]:
        """All transcripts, newest first."""
        return [path for _, path in _by_age(self.folder)]

    def new(self) -> Path:
        """The file of a new session; it does not exist yet."""
        return self.folder / f"{uuid.uuid4().hex}.jsonl"

    def latest(self, folder: str) -> Path:
        """The transcript of the session with a prompt that was last used in this folder."""
        for path in self.all():
            if folder_of(path) == folder:
                return path
        raise PegboardError(f"There is no session in {folder} yet. `pegboard sessions` lists the saved sessions.")

    def find(self, beginning: str) -> Path:
        """The transcript whose id starts with this."""
        found = [path for path in self.all() if path.stem.startswith(beginning)]
        if not found:
            raise PegboardError(f"No session begins with {beginning!r}. `pegboard sessions` lists the saved sessions.")
        if beginning and len(found) > 1:
            raise PegboardError(f"{len(found)} sessions begin with {beginning!r}. Give more of the id.")
        return found[0]

    def delete(self, path: Path) -> None:
        """Remove a transcript and those of its sub-agents, for good."""
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)

    def expire(self, days: float = KEEP_DAYS, now: float | None = None) -> None:
        """Move what was not used for so many days to the trash, and empty the trash of what lay there for a week.

        What is in the trash and not that old comes back: then the clock was wrong when it was moved. The newest
        transcripts stay in any case, and one that a session has open.
        """
        now = time.time() if now is None else now
        for used, path in _by_age(self.trash):
            if now - used <= days * DAY:
                _move(path, self.folder)
            elif now - _changed(path, now) > TRASH_DAYS * DAY:
                self.delete(path)
        for used, path in _by_age(self.folder)[KEEP_NEWEST:]:
            if now - used > days * DAY and not _is_open(path):
                _move(path, self.trash)


def folder_of(path: Path) -> str:
    """The folder that a session was last opened in; empty for one without a prompt, or that cannot be read."""
    folder, is_empty = "", True
    try:
        with path.open("rb") as file:
            for line in file:
                if line.startswith(SESSION):
                    entry = json.loads(line)
                    folder = str(entry.get("folder") or entry.get("cwd") or folder)
                elif is_empty and line.startswith(PROMPT):
                    is_empty = False
    except (OSError, ValueError, AttributeError):
        return ""
    return "" if is_empty else folder


def _by_age(folder: Path) -> list[tuple[float, Path]]:
    """The transcripts of a folder with the time of their last use, newest first. Others may remove some meanwhile."""
    found: list[tuple[float, Path]] = []
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):
            found.append((path.stat().st_mtime, path))
    return sorted(found, reverse=True)


def _changed(path: Path, default: float) -> float:
    """When a file was moved here: moving changes its inode, and nothing else does."""
    try:
        return path.stat().st_ctime
    except OSError:
        return default


def _is_open(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            # Shared, so that two processes that look at the same time do not take each other for the session itself.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _move(path: Path, folder: Path) -> None:
    """Move a transcript with those of its sub-agents; another process may have done it already."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        os.rename(path, folder / path.name)
    with suppress(OSError):
        os.rename(path.with_suffix(""), folder / path.stem)
