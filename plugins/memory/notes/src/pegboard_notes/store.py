"""The notes of one project on disk: where they are, which there are, and what may become one."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pegboard import Context, Settings, ToolError
from pegboard.settings import home, private_folder
from pegboard.wording import counted, did_you_mean, on_one_line
from pegboard_notes.note_path import DEEPEST, ROOT, is_name, relative, shown

SERVICE = "notes"
TITLE_BYTES, TITLE_CHARS = 400, 80
MOST_SEEN = 2_000
"""How many files of a folder are looked at, whoever has put them there."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it is listed."""

    path: str
    """As the model knows it: `/memories/build.md`."""
    title: str
    """Its first line with words in it."""
    size: int

    def __str__(self) -> str:
        return f"{self.path}: {self.title}" if self.title else self.path


class NoteStore:
    """The notes of one project. Only `memory` and the prompt look at them; the file service writes them."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        """None where there is no home directory to keep notes in."""

    def place(self, path: str) -> Path | None:
        """Where a canonical path is on disk."""
        return self.folder / relative(path) if self.folder else None

    def file(self, path: str) -> Path:
        """The same for a note that is about to be used. Links on the way, and files with two names, are refused."""
        place = self.place(path)
        if place is None or self.folder is None:
            raise ToolError("There is no home directory to keep notes in.", code="unsupported")
        for part in (self.folder, *self._between(place), place):
            found = _look(part)
            if found and stat.S_ISLNK(found.st_mode):
                raise ToolError(f"{path} is behind a link, which is not followed here.", code="unsupported")
        found = _look(place)
        if found and stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            raise ToolError(f"{path} has a second name elsewhere, so it is not used as a note.", code="unsupported")
        return place

    def _between(self, place: Path) -> list[Path]:
        return [parent for parent in place.parents if self.folder and self.folder in parent.parents]

    def all(self) -> list[Note]:
        """Every note, by path."""
        if self.folder is None:
            return []
        found = sorted(_files(self.folder, "", DEEPEST))[:MOST_SEEN]
        return [Note(shown(name), _title(self.folder / name), size) for name, size in found]

    def make_room(self, path: str, settings: Settings, instead_of: str = "") -> None:
        """Check that a new note may have this path, also `instead_of` another, and make its folders."""
        notes, most = [note for note in self.all() if note.path != instead_of], settings.get("notes.most")
        if len(notes) >= most:
            reason = f"This project has {counted(len(notes), 'note')}; the limit is {most}."
            raise ToolError(f"{reason} Delete some that are no longer true first.", code="too_large")
        for note in notes:
            if note.path.lower() == path.lower():
                raise ToolError(f"There is already a note {note.path}. Change it with str_replace or insert.")
            if path.lower().startswith(f"{note.path.lower()}/") or note.path.lower().startswith(f"{path.lower()}/"):
                raise ToolError(f"{path} cannot be a note beside {note.path}: one would be the folder of the other.")
        if private_folder(self.file(path).parent) is None:
            reason = f"The folder for {path} cannot be made, or does not belong to you alone."
            raise ToolError(reason, code="failed")

    def tidy(self, path: str) -> None:
        """Remove the folders of a note that is gone, as far as they are empty."""
        place = self.place(path)
        for folder in self._between(place) if place else ():
            try:
                folder.rmdir()
            except OSError:
                return


def store_of(ctx: Context) -> NoteStore | None:
    """The notes of this project; None where the host keeps none."""
    found = ctx.services.others.get(SERVICE)
    return found if isinstance(found, NoteStore) else None


def project_folder(settings: Settings, env: Mapping[str, str]) -> Path | None:
    """The folder of a project's notes, in the user's data: what is in the project is not the user's own."""
    base, at_home = env.get("XDG_DATA_HOME", ""), home(env)
    if not os.path.isabs(base):
        if at_home is None:
            return None
        base = os.path.join(at_home, ".local/share")
    root = os.path.realpath(settings.root)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(root)).strip("-.") or "root"
    key = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    return Path(os.path.realpath(base), "pegboard", "memory", f"{name[:40]}-{key}")


def listing(notes: list[Note], most_chars: int) -> str:
    """Paths and titles within a budget; what does not fit is counted."""
    lines: list[str] = []
    room = most_chars
    for number, note in enumerate(notes):
        line = f"- {note}"
        room -= len(line) + 1
        if room < 0:
            left = len(notes) - number
            return "\n".join([*lines, f"({counted(left, 'more note')}; view {ROOT} lists all)"])
        lines.append(line)
    return "\n".join(lines)


def missing(path: str, known: Mapping[str, Note]) -> str:
    """The sentence about a note that is not there."""
    there = f"View {ROOT} to see which there are." if known else "There are no notes yet."
    meant = did_you_mean(path.removeprefix(f"{ROOT}/"), [name.removeprefix(f"{ROOT}/") for name in known])
    return f"There is no note {path}.{meant} {there}"


def _files(folder: Path, before: str, deep: int) -> Iterator[tuple[str, int]]:
    """Regular files that a note path can mean, with their sizes. Links are not followed."""
    try:
        entries = list(os.scandir(folder))[:MOST_SEEN]
    except OSError:
        return
    for entry in entries:
        if not is_name(entry.name):  # No path means it, and in a list it could pass for more lines of the prompt.
            continue
        name = f"{before}{entry.name}"
        if entry.is_dir(follow_symlinks=False) and deep > 1:
            yield from _files(Path(entry.path), f"{name}/", deep - 1)
        elif entry.is_file(follow_symlinks=False):
            found = entry.stat(follow_symlinks=False)
            if found.st_nlink == 1:
                yield name, found.st_size


def _title(path: Path) -> str:
    """The first line with words in it, without marks of a heading and on one line whatever it contains."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            text = file.read(TITLE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    lines = (line.strip().lstrip("#").strip() for line in text.splitlines())
    return on_one_line(next((line for line in lines if line), ""))[:TITLE_CHARS]


def _look(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
