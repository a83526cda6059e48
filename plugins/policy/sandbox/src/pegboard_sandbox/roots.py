"""Which folders a process may write to, however their paths are spelled and whatever links they pass."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence

from pegboard import ToolError
from pegboard_rules.protected import OPEN_INSIDE
from pegboard_sandbox.protected_paths import is_inside_protected


def writable_roots(wanted: Iterable[str], within: Sequence[str] = ()) -> list[str]:
    """The folders that are writable, outermost only, and none inside a protected folder.

    A path that begins in a folder where processes write must also end there: they could have put a link on the way.
    Those folders are the others that are `wanted`, and `within`.
    """
    spelled = list(dict.fromkeys(map(os.path.abspath, wanted)))
    real = {path: os.path.realpath(path) for path in {*spelled, *map(os.path.abspath, within)}}
    if "/" in (real[path] for path in spelled):
        raise ToolError("The sandbox cannot make / writable. Nothing was started. Work in a subfolder.")
    sound = [path for path in spelled if stays_inside(path, real)]
    found = dict.fromkeys(real[path] for path in sound)
    return [
        root
        for root in found
        if os.path.isdir(root)
        and not is_inside_protected(root)
        and not any(root != outer and is_in(root, outer) and not _is_apart(root, outer) for outer in found)
    ]


def visible_folders(wanted: Iterable[str], within: Sequence[str]) -> tuple[str, ...]:
    """The working directories that a process must be able to see, wherever they are."""
    real = {path: os.path.realpath(path) for path in {*map(os.path.abspath, (*wanted, *within))}}
    return tuple({real[path] for path in real if stays_inside(path, real)})


def stays_inside(path: str, real: dict[str, str]) -> bool:
    """Whether a path leads out of none of the folders in which it begins."""
    end = real.get(path) or os.path.realpath(path)
    return all(
        is_in(end, goal)
        for start, goal in real.items()
        if path not in (start, goal) and (is_in(path, start) or is_in(path, goal))
    )


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or is inside it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def is_scratch(root: str) -> bool:
    """Whether a folder is one of the host's own for passing files: there is nothing to protect in it."""
    parent, name = os.path.split(root)
    return name.startswith("pegboard-shell-") and parent == os.path.realpath(tempfile.gettempdir())


def _is_apart(root: str, outer: str) -> bool:
    """Whether an inner folder is not writable by way of the outer one: a worktree inside a protected folder."""
    return not OPEN_INSIDE.keys().isdisjoint(root[len(outer) :].lower().split("/"))
