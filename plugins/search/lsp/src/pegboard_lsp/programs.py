"""Find the program of a server: on PATH, or else where a project installs its own tools."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pegboard import Context
from pegboard.permission import WorkingDirectories

LOCAL = ("node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin")
FIRST_WITH_SERVER = 7
"""The first version of TypeScript that is its own language server."""


def find_program(command: str, folder: str, root: str, ctx: Context) -> str | None:
    """The absolute path of a program. One on PATH outside the project comes first: it can be started without asking."""
    if os.sep in command:
        path = os.path.normpath(os.path.join(root, os.path.expanduser(command)))
        return path if os.access(path, os.X_OK) and os.path.isfile(path) else None
    found = [path for path in _candidates(command, folder, root, ctx) if _serves(command, path)]
    return next((path for path in found if not is_inside(path, ctx)), next(iter(found), None))


def is_inside(program: str, ctx: Context) -> bool:
    """Whether a program lies in a folder that tools may change, under one of its names."""
    inside = WorkingDirectories.of(ctx)
    return (
        inside.hold(program)
        or inside.hold(os.path.realpath(program))
        or inside.hold(os.path.realpath(os.path.dirname(program)))
    )


def _candidates(command: str, folder: str, root: str, ctx: Context) -> Iterator[str]:
    given = ctx.settings.get("env", None) or {}
    for entry in str(given.get("PATH") or os.environ.get("PATH", os.defpath)).split(os.pathsep):
        # A relative entry would mean another program in every folder.
        if os.path.isabs(entry) and (path := shutil.which(command, path=entry)):
            yield path
    above = [Path(folder), *Path(folder).parents]
    for place in above:
        for local in LOCAL:
            if path := shutil.which(command, path=str(place / local)):
                yield path
        if str(place) == root or not str(place).startswith(root):
            return


def _serves(command: str, path: str) -> bool:
    """Whether it is a language server at all: the compiler of TypeScript is one from version 7 on."""
    if command != "tsc":
        return True
    try:
        package = json.loads((Path(os.path.realpath(path)).parent.parent / "package.json").read_bytes())
        return int(package["version"].split(".")[0]) >= FIRST_WITH_SERVER
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
