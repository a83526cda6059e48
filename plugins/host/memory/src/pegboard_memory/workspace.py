"""Where memory files are looked for, and in which order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pegboard import Settings
from pegboard.settings import home

IN_A_FOLDER = (
    ("AGENTS.md", "project"),
    ("CLAUDE.md", "project"),
    (".claude/CLAUDE.md", "project"),
    (".pegboard/AGENTS.md", "project"),
    ("CLAUDE.local.md", "local"),
)
"""The files of one folder with their origin, in the order in which they are shown."""
OF_THE_USER = (".claude/CLAUDE.md", ".pegboard/AGENTS.md")
RULES = ".claude/rules"
MOST_RULES, MOST_FOLDERS = 500, 1_000


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where a session works: the project, and what of it may be read without trust."""

    root: str
    """The root of the repository, or of the project where there is none."""
    cwd: str
    trusted: bool = False
    home: str | None = None

    @classmethod
    def of(cls, settings: Settings, cwd: Path, env: Mapping[str, str]) -> Workspace:
        """The workspace of a session in this folder."""
        at_home = home(env)
        return cls(_repository(str(cwd), at_home) or _project(settings, str(cwd)), str(cwd), settings.trusted, at_home)

    def holds(self, path: str) -> bool:
        """Whether a path, links followed, is in the project."""
        real, root = os.path.realpath(path), os.path.realpath(self.root)
        return real == root or real.startswith(os.path.join(root, ""))

    def chain(self, folder: str) -> list[str]:
        """The folders from the root down to this one; only this one if it lies elsewhere."""
        folders = [folder]
        if not (folder == self.root or folder.startswith(os.path.join(self.root, ""))):
            return folders
        while folders[0] != self.root:
            folders.insert(0, os.path.dirname(folders[0]))
        return folders


def _repository(folder: str, at_home: str | None) -> str | None:
    """The nearest folder at or above this one that is a checkout; never the home directory or above it.

    A git folder of another person, as in /tmp, does not count: it would bring their instructions along.
    """
    owners = {os.geteuid(), _owner(folder)} - {None}
    stop = {at_home, os.path.realpath(at_home)} if at_home else set[str | None]()
    while folder not in stop:
        if _owner(os.path.join(folder, ".git")) in owners:
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return None


def _owner(path: str) -> int | None:
    """Whom a file or folder belongs to; None where there is none."""
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def _project(settings: Settings, cwd: str) -> str:
    inside = cwd == settings.root or cwd.startswith(os.path.join(settings.root, ""))
    return settings.root if inside else cwd


def rule_files(folder: str) -> Iterator[str]:
    """The rules of a folder, sorted by their path; linked folders are not entered."""
    found: list[str] = []
    for count, (here, folders, names) in enumerate(os.walk(os.path.join(folder, RULES))):
        folders.sort()
        found += [os.path.join(here, name) for name in names if name.endswith(".md")]
        if len(found) >= MOST_RULES or count >= MOST_FOLDERS:
            break
    yield from sorted(found)[:MOST_RULES]
