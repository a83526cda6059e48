"""Which files a folder has: what a command has made is what was not there before it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

REPOSITORIES = (".git", ".hg", ".jj", ".svn")
MADE_AGAIN = (".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".venv", "__pycache__", "node_modules")
SKIPPED = frozenset((*REPOSITORIES, *MADE_AGAIN))
"""Folders of other programs, with many files that are made again when they are needed."""

Listing = dict[str, os.stat_result]


def list_files(place: Path, seconds: float, without: str = "") -> Listing | None:
    """The regular files below a folder by their paths; None where that would take longer."""
    deadline = time.monotonic() + seconds
    found: Listing = {}
    folders = [os.fspath(place)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if time.monotonic() > deadline:
                    return None
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED and entry.path != without:
                        folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        found[entry.path] = entry.stat(follow_symlinks=False)
    return found
