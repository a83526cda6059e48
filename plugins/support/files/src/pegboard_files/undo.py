"""The bytes that writes have replaced, kept for a while so that a write can be taken back."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from pegboard.settings import private_folder
from pegboard_files.interface import Undo
from pegboard_files.safe_write import Replaced

LARGEST = 64_000_000
RETENTION_DAYS = 30


class UndoStore:
    """A folder of earlier contents, each under its digest: the same bytes are kept once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder, self._tidied = folder, False

    def keep(self, data: bytes, digest: str) -> Path | None:
        """Keep bytes that are about to be replaced; None where that cannot be done."""
        if self._folder is None or not digest or len(data) > LARGEST:
            return None
        if not self._tidied:  # On the first write rather than at start-up, so that reading does not wait for it.
            self._tidied = True
            self.remove_old()
        # Named by content, so equal contents are stored once, and a finished file never has to be written again.
        kept, part = self._folder / digest, self._folder / f"{digest}.{os.getpid()}.part"
        try:
            if kept.exists():
                os.utime(kept)  # It is of use again, so it stays longer.
                return kept
            if private_folder(self._folder) is None:
                return None
            # O_TRUNC instead of O_EXCL: a part with our process id is left over from a process that is gone.
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.write(data)
            return part.rename(kept)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            return None

    def entry(self, target: Path, replaced: Replaced, stored: Path | None) -> Undo:
        """How to take this write back."""
        before = replaced.before
        mode = stat.S_IMODE(before.stat.st_mode) if before.stat else 0
        return Undo(target, before.digest, replaced.digest, stored, mode, time.time_ns())

    def remove_old(self, days: float = RETENTION_DAYS) -> None:
        """Remove contents that are older than this many days."""
        if self._folder is None:
            return
        limit = time.time() - days * 86_400
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                with suppress(OSError):
                    if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < limit:
                        Path(entry).unlink()
