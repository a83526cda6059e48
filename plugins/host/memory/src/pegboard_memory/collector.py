"""Collect the memory files of a session in their order: each file once, with its imports behind it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from pegboard_memory.file_text import FileText, read_file
from pegboard_memory.markdown import imports_in, paths_of, spellings, split_front_matter, without_comments
from pegboard_memory.workspace import IN_A_FOLDER, OF_THE_USER, RULES, Workspace, rule_files

HOPS = 4
"""How many imports may follow one another."""
MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory file as the model is shown it."""

    path: str
    origin: str
    """`user`, `project`, `local`, `rule` or `import`."""
    text: str
    importer: str = ""
    own: bool = False
    """Whether it is the person's own, for all projects."""
    globs: tuple[str, ...] = ()
    """The files that a rule is for; none for all."""
    remarks: tuple[str, ...] = ()
    """What the model should know about the text: that it was cut, or is damaged."""

    @property
    def digest(self) -> str:
        """What changes with the text."""
        return sha256("\0".join((self.text, *self.remarks)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(slots=True)
class Collection:
    """What was found, in order, and why some of it is not shown."""

    files: list[MemoryFile] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """A sentence by path."""


class Collector:
    """One look at all memory files."""

    def __init__(self, workspace: Workspace, limit: int, may_show: Callable[[str], bool] | None = None) -> None:
        self._workspace, self._limit, self._may_show = workspace, limit, may_show
        self._seen: set[tuple[int, int]] = set()
        self.found = Collection()

    def collect(self, folders: Iterable[str], read_paths: Iterable[str]) -> Collection:
        """The files of the user and of these folders; rules with `paths` where one of `read_paths` fits."""
        workspace, read = self._workspace, list(read_paths)
        if workspace.home:
            for name in OF_THE_USER:
                self._add(os.path.join(workspace.home, name), "user", own=True)
            self._add_rules(workspace.home, workspace.root, read, own=True)
        for folder in folders:
            for name, origin in IN_A_FOLDER:
                self._add(os.path.join(folder, name), origin)
            self._add_rules(folder, folder, read)
        return self.found

    def _add_rules(self, folder: str, base: str, read: list[str], *, own: bool = False) -> None:
        if not self._is_allowed(os.path.join(folder, RULES), own):
            return
        for path in rule_files(folder):
            if found := self._read(path, own):
                front, body = split_front_matter(found.text)
                try:
                    globs = paths_of(front)
                    if globs is not None and not _fits(globs, base, read):
                        continue
                except ValueError as error:
                    self.found.skipped[path] = f"{path} is not used: {error}."
                    continue
                self._take(MemoryFile(path, "rule", body, own=own, globs=tuple(globs or ())), found)

    def _add(self, path: str, origin: str, *, own: bool = False) -> None:
        if found := self._read(path, own):
            self._take(MemoryFile(path, origin, found.text, own=own), found)

    def _take(self, file: MemoryFile, found: FileText, hops: int = 0) -> None:
        """Add a file that was read, and what it imports."""
        if found.identity in self._seen or len(self._seen) >= MOST_FILES:
            return
        self._seen.add(found.identity)
        text = without_comments(file.text).strip()
        remarks: list[str] = []
        if found.is_cut:
            remarks.append(f"Only the beginning is shown: the file has {found.size:,} bytes. Read it for the rest.")
        if found.is_damaged:
            remarks.append("Some bytes are not UTF-8; they are shown as \ufffd.")
        if text:
            self.found.files.append(replace(file, text=text, remarks=tuple(remarks)))
        if hops < HOPS:
            for word in imports_in(text):
                self._import(word, file, hops + 1)

    def _import(self, word: str, importer: MemoryFile, hops: int) -> None:
        for spelling in spellings(word):
            path = os.path.normpath(os.path.join(os.path.dirname(importer.path), self._at_home(spelling)))
            if not os.path.isfile(path):
                continue
            if found := self._read(path, importer.own):
                self._take(MemoryFile(path, "import", found.text, importer.path, importer.own), found, hops)
            return

    def _at_home(self, path: str) -> str:
        return os.path.join(self._workspace.home, path[2:]) if path.startswith("~/") and self._workspace.home else path

    def _read(self, path: str, own: bool) -> FileText | None:
        """A file that may be read; asked again about what was opened, because a link can be swapped in between."""
        found = read_file(path, self._limit) if self._is_allowed(path, own) else None
        return found if found and (not found.real or self._is_allowed(found.real, own)) else None

    def _is_allowed(self, path: str, own: bool) -> bool:
        """Whether a file may be read: the user's own, a project's inside it, others once the project is trusted."""
        if not os.path.lexists(path):
            return False
        if not own and not self._workspace.trusted and not self._workspace.holds(path):
            reason = f"it is outside {self._workspace.root}, which is not trusted. See `pegboard trust`."
            self.found.skipped[path] = f"{path} is not read: {reason}"
            return False
        if self._may_show and not self._may_show(path):
            self.found.skipped[path] = f"{path} is not read: a permission rule withholds it."
            return False
        return True


def _fits(globs: list[str], base: str, read: list[str]) -> bool:
    from pegboard_ignore import GlobError, Matcher  # Few memory files have conditions.

    for glob in globs:
        try:
            matcher = Matcher(glob.removeprefix("/"))
        except GlobError as error:
            raise ValueError(f"the glob {glob!r} cannot be used: {error}") from None
        for path in read:
            relative = os.path.relpath(path, base)
            folder, name = os.path.split(relative)
            if not relative.startswith("..") and matcher.pick(os.path.join(folder, "") if folder else "", [name]):
                return True
    return False


def within(files: list[MemoryFile], total: int) -> tuple[list[MemoryFile], list[MemoryFile]]:
    """The files that fit into the budget, in their order, and those that do not. The last ones are the nearest."""
    left, kept = total, set[int]()
    for at in range(len(files) - 1, -1, -1):
        size = len(files[at].text)
        if size <= left:
            left -= size
            kept.add(at)
    return [f for i, f in enumerate(files) if i in kept], [f for i, f in enumerate(files) if i not in kept]
