"""Where the shell finds a program: a name is trusted only while PATH does not lead into the project."""

from __future__ import annotations

import os
from functools import lru_cache

from pegboard_bash.effects import ShellState


def is_of_project(name: str, place: ShellState) -> bool:
    """Whether the program is in a folder of PATH that belongs to the project, or is named from where the shell is."""
    folders = _in_project(os.environ.get("PATH", ""), place.start)
    return any(os.path.lexists(os.path.join(cwd, folder, name)) for folder in folders for cwd in place.cwds)


@lru_cache(maxsize=64)
def _in_project(path: str, start: str) -> tuple[str, ...]:
    root = os.path.realpath(start).rstrip("/")
    return tuple(
        folder
        for folder in path.split(":")
        if not os.path.isabs(folder) or f"{os.path.realpath(folder)}/".startswith(f"{root}/")
    )
