"""What of the working directories may be read, where parts of them may not: siblings are granted one by one."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pegboard_confine.visible_paths import is_in

MOST_ENTRIES = 50_000
"""How many files are looked at for rules that hold at any depth."""
MOST_GRANTS = 2_000
DEEPEST = 200
UNSETTLED = 2_000_000_000
"""Nanoseconds in which a folder may change twice and show the same time."""

MayRead = Callable[[str], bool]
Stamp = tuple[int, int, int, int]


class CannotHideError(Exception):
    """It would take too long, or too many grants."""


@dataclass(slots=True)
class FolderState:
    """A folder as it was when it was looked at."""

    stamp: Stamp
    settled: bool
    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Granted:
    """What is granted of working directories."""

    whole: list[str] = field(default_factory=list)
    """Folders and files that are granted with all that is in them."""
    listed: list[str] = field(default_factory=list)
    """Folders in which only names may be seen; the kernel then shows the names of all that is below."""
    hidden: list[str] = field(default_factory=list)
    """What is left out."""


class Survey:
    """Looks at working directories, and again only at what has changed since."""

    def __init__(self, hidden: Iterable[str], may_read: MayRead | None) -> None:
        self._named = tuple(hidden)
        self._may_read = may_read
        self._known: dict[str, FolderState] = {}
        self._seen = 0

    def of(self, roots: Iterable[str]) -> Granted:
        """What is granted of these folders; `CannotHideError` when that cannot be said."""
        self._seen = 0
        found, folders, hidden = Granted(), list(dict.fromkeys(roots)), set[str]()
        for root in folders:
            hidden.update(path for path in self._named if is_in(path, root))
            if self._may_read is not None:
                self._walk(root, hidden, 0)
        for root in folders:
            inside = {path for path in hidden if is_in(path, root) and os.path.lexists(path)}
            found.hidden += sorted(inside)
            if inside:
                found.listed.append(root)
                self._grant_around(root, inside, found)
            else:
                found.whole.append(root)
        return found

    def is_current(self) -> bool:
        """Whether nothing has changed in the folders that were looked at."""
        return all(known.settled and stamp_of(path) == known.stamp for path, known in self._known.items())

    def _grant_around(self, folder: str, hidden: set[str], found: Granted) -> None:
        known = self._look(folder)
        found.whole += [path for path in known.files if path not in hidden]
        for path in known.folders:
            if path in hidden:
                continue
            if any(is_in(each, path) for each in hidden):
                self._grant_around(path, hidden, found)
            else:
                found.whole.append(path)
        if len(found.whole) > MOST_GRANTS:
            raise CannotHideError(f"{folder} has too many entries next to hidden ones")

    def _walk(self, folder: str, hidden: set[str], depth: int) -> None:
        known = self._look(folder)
        self._seen += len(known.files) + len(known.folders)
        if self._seen > MOST_ENTRIES or depth > DEEPEST:
            raise CannotHideError(f"{folder} has too many files to find the hidden ones")
        hidden.update(known.hidden)
        for path in known.folders:
            if path not in hidden:
                self._walk(path, hidden, depth + 1)

    def _look(self, folder: str) -> FolderState:
        stamp = stamp_of(folder)
        known = self._known.get(folder)
        if known is not None and known.settled and known.stamp == stamp:
            return known
        known = self._known[folder] = FolderState(stamp, is_settled(stamp))
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._sort(entry, known)
        except OSError:
            known.settled = False
        return known

    def _sort(self, entry: os.DirEntry[str], known: FolderState) -> None:
        may_read = self._may_read is None or self._may_read(entry.path)
        if entry.is_symlink():
            if not may_read:  # a rule on a link is a rule on what it leads to
                known.hidden.append(os.path.realpath(entry.path))
        elif not may_read:
            known.hidden.append(entry.path)
        elif entry.is_dir(follow_symlinks=False):
            known.folders.append(entry.path)
        elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            known.files.append(entry.path)


def is_settled(stamp: Stamp) -> bool:
    """Whether the folder was left alone for long enough before this look that its times tell the next change."""
    return time.time_ns() - max(stamp[2], stamp[3]) > UNSETTLED


def stamp_of(path: str) -> Stamp:
    """What tells one state of a folder from another."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0, 0)
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
