"""What was typed in a folder, for the next conversation in it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from pegboard.settings import state_dir

MOST = 2_000_000
"""Bytes after which a history begins anew with its newer half."""


def history_of(folder: str) -> History:
    """The history of a folder; where it cannot be kept, one for this conversation."""
    state = state_dir(os.environ)
    if not state:
        return InMemoryHistory()
    path = Path(state, "history", hashlib.sha256(os.fsencode(folder)).hexdigest()[:24])
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        _shorten(path)
    except OSError:
        return InMemoryHistory()
    return FolderHistory(str(path))


class FolderHistory(FileHistory):
    """A history on disk. A disk that takes no more costs the history, not the prompt."""

    def store_string(self, string: str) -> None:
        """Keep one input."""
        try:
            super().store_string(string)
        except OSError:
            return

    def load_history_strings(self) -> Iterable[str]:
        """The earlier inputs, newest first."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []


def _shorten(path: Path) -> None:
    if path.stat().st_size > MOST:
        kept = path.read_bytes()[-MOST // 2 :]
        path.write_bytes(kept[kept.find(b"\n\n# ") + 1 :])
