"""Which paths a process must not change although the folder around them is writable."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from pegboard import ToolError
from pegboard_rules.protected import (
    ALL_FILES,
    ALL_FOLDERS,
    ALL_FOLDERS_IN,
    ENDINGS,
    FILES,
    FOLDERS,
    FOLDERS_IN,
    OPEN_INSIDE,
    PERSONAL_FILES,
    PERSONAL_FOLDERS,
    PERSONAL_FOLDERS_IN,
)
from pegboard_sandbox import repository

BUILD = frozenset({"makefile", "package.json", "conftest.py"})
"""What decides how a project is built. `allowWrite` may open these by name; nothing opens the others."""

BARE = "HEAD"
"""With a file of this name a folder can pose as a repository, with hooks of its own."""

SPELLINGS = {"makefile": ("makefile", "Makefile")}
NAMES = sorted({spelling for name in FILES for spelling in SPELLINGS.get(name, (name,))} | FOLDERS | {BARE})
"""Every name that is held at the top of a writable folder, whether it is there or not."""

PERSONAL = sorted(PERSONAL_FILES | PERSONAL_FOLDERS)
"""Names that are held where they are there, and in a home directory also where they are not."""

SETTLED_NS = 100_000_000
MOST_KNOWN = 4096
TELLING = {name.lower() for name in (*NAMES, *PERSONAL)} | {outer for outer, _ in ALL_FOLDERS_IN}


@dataclass(slots=True)
class Held:
    """Paths that must not change."""

    there: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    """Folders without content. They look the same when something empty is mounted over them, which costs less."""
    missing: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """Missing files that must be there with a certain content, because a folder in their place breaks a program."""
    relied_on: list[str] = field(default_factory=list)
    """Files that are there and could be what another run has put in place of a missing one."""
    opened: list[str] = field(default_factory=list)
    """Folders inside protected ones that may change."""

    def hold(self, path: str) -> None:
        """Hold a path, whatever is there now."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            self.missing.append(path)
            return
        if stat.S_ISLNK(found.st_mode):
            raise ToolError(
                f"The sandbox cannot protect {path}, because it is a symbolic link. Nothing was started. "
                "Replace the link with its target, or switch the sandbox off."
            )
        is_empty = stat.S_ISDIR(found.st_mode) and _is_empty(path, found)
        (self.empty if is_empty else self.there).append(path)

    def hold_file(self, path: str, content: str | None = None) -> None:
        """Hold a file; a missing one by one whose content means nothing, if there is such a content."""
        if os.path.lexists(path):
            self.hold(path)
            if content is not None:
                self.relied_on.append(path)
        elif content is not None:
            self.files[path] = content

    def paths(self) -> list[str]:
        """All of them, but for those that are opened."""
        return [*self.there, *self.empty, *self.missing, *self.files]


_EMPTY: dict[str, tuple[int, int]] = {}
"""Folders that were found empty, and how they looked then. Asked of every stand-in before every process."""


def _is_empty(path: str, found: os.stat_result) -> bool:
    look = (found.st_ino, found.st_mtime_ns)
    if _EMPTY.get(path) == look:
        return True
    if os.listdir(path):
        return False
    # Within the same tick of the clock something could still be added unseen.
    if time.time_ns() - found.st_mtime_ns > SETTLED_NS:
        if len(_EMPTY) > MOST_KNOWN:
            _EMPTY.clear()
        _EMPTY[path] = look
    return True


def hold_in(root: str, held: Held, allowed: Collection[str], denied: Collection[str]) -> None:
    """Hold everything protected at the top of a writable folder; `.git` in parts, so that commits work."""
    with os.scandir(root) as entries:
        there = {entry.name for entry in entries if _tells(entry.name.lower())}
    at_home = os.path.realpath(root) == os.path.realpath(os.path.expanduser("~"))
    for name in [*NAMES, *PERSONAL] if at_home else NAMES:
        path = f"{root}/{name}"
        if name not in there and not (path in allowed and name.lower() in BUILD):
            held.missing.append(path)
    for name in sorted(there):
        path = f"{root}/{name}"
        if name == ".git" and path not in denied and repository.opens(root):
            _hold_repository(root, held)
        elif not (path in allowed and name.lower() in BUILD) and (name in NAMES or _is_protected(name.lower())):
            held.hold(path)
    personal = {pair for pair in PERSONAL_FOLDERS_IN if at_home or pair[0] in there}
    for outer, inner in sorted(FOLDERS_IN | personal):
        parent = f"{root}/{outer}"
        is_folder = outer not in there or (os.path.isdir(parent) and not os.path.islink(parent))
        held.hold(f"{parent}/{inner}" if is_folder else parent)
    if BARE in there and repository.is_bare(root):
        _hold_git_folder(root, held)


def _hold_repository(root: str, held: Held) -> None:
    if os.path.isdir(f"{root}/.git"):
        _hold_git_folder(f"{root}/.git", held)
        held.opened.append(f"{root}/.git")
        return
    held.hold(f"{root}/.git")
    linked = repository.linked(root)
    if linked:
        held.opened += [linked.repository, linked.folder]
        _hold_git_folder(linked.repository, held)
        for name in repository.OF_THE_MAIN_WORKTREE:
            held.hold_file(f"{linked.repository}/{name}")
        for name, content in repository.FILES_OF_WORKTREE.items():
            held.hold_file(f"{linked.folder}/{name}", content)


def _hold_git_folder(folder: str, held: Held) -> None:
    for name in repository.FOLDERS:
        held.hold(f"{folder}/{name}")
    for name, content in repository.FILES.items():
        held.hold_file(f"{folder}/{name}", content)
    info = f"{folder}/{repository.INFO}"
    if not os.path.isdir(info) or os.path.islink(info):
        held.hold(info)
        return
    for name in repository.FILES_IN_INFO:
        held.hold_file(f"{info}/{name}", "")


def is_inside_protected(path: str) -> bool:
    """Whether a path is, or is inside, a folder that sets policy or runs code."""
    names = [name.lower() for name in path.split("/") if name]
    for at, name in enumerate(names):
        if name in ALL_FOLDERS and names[at + 1 : at + 2] != [OPEN_INSIDE.get(name)]:
            return True
        if at and (names[at - 1], name) in ALL_FOLDERS_IN:
            return True
    return False


def is_protected_file(path: str) -> bool:
    """Whether a file sets policy or runs code, by its name or its location; build files do not count."""
    name = os.path.basename(path).lower()
    return is_inside_protected(path) or (name not in BUILD and _is_protected(name))


def _tells(name: str) -> bool:
    return name in TELLING or name.endswith(ENDINGS)


def _is_protected(name: str) -> bool:
    return name in ALL_FILES or name in ALL_FOLDERS or name.endswith(ENDINGS)
