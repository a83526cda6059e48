"""The memory of a kind of agents: a folder of its own, which outlives every run, and the beginning of its index."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from pegboard import Settings
from pegboard.settings import home
from pegboard_session import AgentDefinition, Session, readable_files

HOSTS = (".claude", ".pegboard")
"""Whose folder is used: the first that has one for this agent, else ours."""
INDEX = "MEMORY.md"
MOST_LINES, MOST_BYTES = 200, 25_000
MOST_FILES = 50

WORDS = """\
You have a memory that outlives this conversation, in the folder {folder}.
Before you begin, look there for what helps with the task. When you have learnt something that a later run should \
know, write it there: one file for each subject, and one line about it in {index}. Keep {index} below {lines} lines."""


def memory_folder(definition: AgentDefinition, settings: Settings, env: Mapping[str, str]) -> Path | None:
    """Where a kind of agents keeps its memory; None for one that has none."""
    top = _top(definition.memory, settings, env)
    if top is None:
        return None
    below = "agent-memory-local" if definition.memory == "local" else "agent-memory"
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", definition.name)
    places = [Path(top, host, below, name) for host in HOSTS]
    chosen = next((place for place in places if place.is_dir()), places[-1])
    # A link must not make another folder readable.
    is_inside = os.path.realpath(chosen) == os.path.join(os.path.realpath(top), *chosen.parts[-3:])
    return chosen if is_inside else None


def _top(scope: str, settings: Settings, env: Mapping[str, str]) -> str | None:
    if scope == "user":
        return home(env)
    if scope == "local":
        while settings.moved_from:  # A worktree does not have what git does not track.
            settings = settings.moved_from
    return settings.root if scope else None


def memory_words(definition: AgentDefinition, session: Session, env: Mapping[str, str]) -> str:
    """What an agent is told about its memory; empty for one that has none."""
    folder = memory_folder(definition, session.ctx.settings, env)
    if folder is None:
        return ""
    said = [WORDS.format(folder=folder, index=INDEX, lines=MOST_LINES)]
    may_show = readable_files(session, str(folder)) or (lambda path: True)
    names = _names(folder)
    if names:
        said.append(f"It has these files: {', '.join(names)}")
    index = folder / INDEX
    if INDEX in names and may_show(str(index)) and (text := _beginning(index)):
        said.append(f"{INDEX} says:\n\n{text}")
    return "\n\n".join(said)


def _names(folder: Path) -> list[str]:
    """The files of a memory. Links are left out: they may lead anywhere."""
    try:
        with os.scandir(folder) as found:
            names = sorted(one.name for one in found if one.is_file(follow_symlinks=False) and one.name.isprintable())
    except OSError:
        return []
    return [*names[:MOST_FILES], "…"] if len(names) > MOST_FILES else names


def _beginning(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError:
        return ""
    lines = raw[:MOST_BYTES].decode("utf-8", "replace").splitlines()
    is_cut = len(raw) > MOST_BYTES or len(lines) > MOST_LINES
    return "\n".join(lines[:MOST_LINES]).strip() + (f"\n(The rest of {INDEX} is left out.)" if is_cut else "")
