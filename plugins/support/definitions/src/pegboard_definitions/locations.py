"""Where definitions lie: the folders of a project from its root down to where work began, and files below them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pegboard import Settings

MOST_FOLDERS = 2_000
DEEPEST = 6
SKIPPED = frozenset({".git", "node_modules", "__pycache__"})


def project_folders(settings: Settings) -> list[str]:
    """The project's root and every folder from there down to the one that work began in; the root first."""
    folders, root = [settings.cwd], settings.root
    if not settings.cwd.startswith(os.path.join(root, "")):
        return [root]
    while folders[0] != root:
        folders.insert(0, os.path.dirname(folders[0]))
    return folders


def markdown_files(folder: Path, *, links: bool) -> Iterator[Path]:
    """The Markdown files of a folder and the folders in it, by name. Folders that are links only where they may be."""
    for here, folders, names in _walk(folder, links):
        folders.sort()
        yield from (Path(here, name) for name in sorted(names) if name.endswith(".md") and not name.startswith("."))


def _walk(folder: Path, links: bool) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, without hidden folders, bounded in depth and number; a folder that was seen is not seen again."""
    top, seen, count = str(folder), set[tuple[int, int]](), 0
    for here, folders, names in os.walk(top, followlinks=links):
        count += 1
        try:
            found = os.stat(here)
        except OSError:  # It went away while we looked.
            continue
        deep = here.count(os.sep) - top.count(os.sep) >= DEEPEST
        if (found.st_dev, found.st_ino) in seen or count > MOST_FOLDERS:
            folders.clear()
            continue
        seen.add((found.st_dev, found.st_ino))
        folders[:] = [] if deep else [name for name in folders if not name.startswith(".") and name not in SKIPPED]
        yield here, folders, names
