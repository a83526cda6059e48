"""Which paths a process must not change although the folder around them is writable."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pegboard.errors import ToolError
from pegboard.permission.protected import ENDINGS, FILES, FOLDERS, FOLDERS_IN, OPEN_INSIDE

BUILD = frozenset({"makefile", "package.json", "conftest.py"})
"""What decides how a project is built. `sandbox.allowWrite` may open these by name; nothing opens the others."""

SPELLINGS = {"makefile": ("makefile", "Makefile")}
BARE = "HEAD"
"""With a file of this name a folder can pose as a repository, with hooks of its own."""

HELD_IN_GIT = ("hooks", "config", "config.worktree", "info", "modules", "worktrees")
"""What makes git run programs. Held also where `sandbox.allowWrite` opens `.git` for commits."""


def is_inside_protected(path: str) -> bool:
    """Whether a path is, or lies in, a folder that sets policy or runs code."""
    names = [name.lower() for name in path.split("/") if name]
    for at, name in enumerate(names):
        if name in FOLDERS and names[at + 1 : at + 2] != [OPEN_INSIDE.get(name)]:
            return True
        if at and (names[at - 1], name) in FOLDERS_IN:
            return True
    return False


def protected_in(root: str, opened: tuple[str, ...] = ()) -> Iterator[str]:
    """Every protected path at the top of a writable folder, those that do not exist yet included."""
    names = {spelling for name in FILES for spelling in SPELLINGS.get(name, (name,))} | FOLDERS | {BARE}
    names |= {name for name in os.listdir(root) if _is_protected(name.lower())}
    for name in sorted(names):
        path = f"{root}/{name}"
        if path in opened and name == ".git" and os.path.isdir(path):
            yield from (f"{path}/{held}" for held in HELD_IN_GIT)
        elif not (path in opened and name.lower() in BUILD):
            yield path
    for outer, inner in sorted(FOLDERS_IN):
        parent = f"{root}/{outer}"
        is_folder = os.path.isdir(parent) or not os.path.lexists(parent)
        yield f"{parent}/{inner}" if is_folder and not os.path.islink(parent) else parent


def open_inside(root: str) -> Iterator[str]:
    """Folders of work inside protected folders, where they exist."""
    for outer, inner in OPEN_INSIDE.items():
        path = f"{root}/{outer}/{inner}"
        if os.path.isdir(path) and os.path.realpath(path) == path:
            yield path


def require_holdable(path: str) -> None:
    """Refuse a protected path that is a link: a link can be replaced, and nothing can be mounted over it."""
    if os.path.islink(path):
        raise ToolError(
            f"The sandbox cannot protect {path}, because it is a symbolic link. Nothing was started. "
            "Replace the link by what it points to, or switch the sandbox off."
        )


def _is_protected(name: str) -> bool:
    return name in FILES or name in FOLDERS or name.endswith(ENDINGS)
