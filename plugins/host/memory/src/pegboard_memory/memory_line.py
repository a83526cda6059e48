"""Keep a line for later sessions, in the memory file where a person would look for it."""

from __future__ import annotations

import os
from pathlib import Path

from pegboard import PegboardError
from pegboard.wording import shown
from pegboard_memory.workspace import Workspace

SCOPES = ("project", "local", "user")
FOR_A_PROJECT = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", ".pegboard/AGENTS.md")
LONGEST = 2_000


def add_memory(line: str, workspace: Workspace, scope: str = "project") -> Path:
    """Append a line as an item of a list, and say to which file.

    `project` is the first of the project's files that exists, else a new `AGENTS.md` in its root; `local` is
    `CLAUDE.local.md` there; `user` is `~/.pegboard/AGENTS.md`.
    """
    words = " ".join(line.split()).removeprefix("- ")
    if not words or not words.isprintable() or len(words) > LONGEST:
        raise PegboardError(f"A memory must be a line of 1 to {LONGEST} characters, got {shown(line)}.")
    path = _target(workspace, scope)
    try:
        _append(path, f"- {words}\n".encode())
    except OSError as error:
        raise PegboardError(f"{path}: the line cannot be added: {error.strerror}.") from None
    return path


def _target(workspace: Workspace, scope: str) -> Path:
    if scope == "user":
        if not workspace.home:
            raise PegboardError("There is no home directory for your own memory file. Set HOME.")
        return Path(workspace.home, ".pegboard", "AGENTS.md")
    if scope == "local":
        path = Path(workspace.root, "CLAUDE.local.md")
    elif scope == "project":
        there = (name for name in FOR_A_PROJECT if os.path.exists(os.path.join(workspace.root, name)))
        path = Path(workspace.root, next(there, FOR_A_PROJECT[0]))
    else:
        raise PegboardError(f"{scope!r} is not a place for memories. Use one of {', '.join(SCOPES)}.")
    if os.path.lexists(path) and not workspace.holds(str(path)):
        raise PegboardError(f"{path} is a link to a file outside the project. Edit that file by hand.")
    return path


def _append(path: Path, line: bytes) -> None:
    """One write at the end of the file, on a line of its own; other processes may do the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    with open(descriptor, "r+b", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)
