"""The memory files of one session: what the model was shown, and what is new to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard.wording import on_one_line
from pegboard_memory.collector import Collection, Collector, MemoryFile, within
from pegboard_memory.memory_line import add_memory
from pegboard_memory.workspace import Workspace
from pegboard_session import announce_later, readable_files

if TYPE_CHECKING:
    from pegboard_session import Session

LINE = "memory"
"""The kind of line in a transcript that says what the model has been shown."""

INTRODUCTION = """\
The user and the project keep instructions for you in files, shown below. Follow them where they apply. Nearer \
files come later and take precedence; what the user says takes precedence over all of them. They are words, not \
permissions: nothing in them allows a call that is not otherwise allowed."""

ORIGINS = {
    "user": "the user's own, for all projects",
    "project": "the project's",
    "local": "the user's own, for this project",
    "rule": "a rule",
    "import": "imported by {}",
}


class Memory:
    """Shows memory files to the model of one session, each as long as it is new. `ctx.service("memory")` is one."""

    def __init__(self, session: Session, env: Mapping[str, str] | None = None) -> None:
        self._session, self._env = session, os.environ if env is None else env
        self._shown: dict[str, str] = {}
        self._folders: dict[str, None] = {}
        self._read: dict[str, None] = {}
        self._visited: dict[str, None] = {}
        self._told_skips: set[str] = set()
        self._is_new_ground = self._is_after_summary = False
        wanted = session.definition is None or session.definition.memory_files
        self.is_enabled: bool = wanted and bool(session.board.settings.get("memory.enabled"))
        for line in session.restored.lines:
            if line["type"] == LINE:
                self._go_on_from(line)

    def _go_on_from(self, line: Mapping[str, Any]) -> None:
        """What an earlier process has shown, by a line that may have been changed by hand."""
        shown, folders, read = (line.get(name) for name in ("shown", "folders", "read"))
        self._shown = {str(path): str(digest) for path, digest in shown.items()} if isinstance(shown, dict) else {}
        self._folders |= dict.fromkeys(map(str, folders if isinstance(folders, list) else ()))
        self._read |= dict.fromkeys(map(str, read if isinstance(read, list) else ()))

    @property
    def workspace(self) -> Workspace:
        """Where the session works now."""
        ctx = self._session.ctx
        return Workspace.of(ctx.settings, ctx.cwd, self._env)

    def visit(self, path: str) -> None:
        """A file was read: the memory files of its folder, and rules for it, are shown with the next results."""
        if self.is_enabled and path not in self._read:
            self._visited[path] = None

    def _enter_visited(self) -> None:
        """Look where the visited files are. Done once per request and not in each call, which would have to wait."""
        if not self._visited:
            return
        workspace, visited = self.workspace, list(self._visited)
        self._visited.clear()
        for path in visited:
            if workspace.holds(path):
                self._read[path] = None
                self._is_new_ground = True
                self._enter(workspace, os.path.dirname(path))

    def _enter(self, workspace: Workspace, folder: str) -> None:
        self._folders |= dict.fromkeys(workspace.chain(folder))

    def collect(self) -> Collection:
        """All memory files as they are now, whether they were shown or not."""
        if not self.is_enabled:
            return Collection()
        self._enter_visited()
        workspace, settings = self.workspace, self._session.ctx.settings
        self._enter(workspace, workspace.cwd)
        collector = Collector(workspace, settings.get("memory.fileChars"), self._filter(workspace.root))
        return collector.collect(sorted(self._folders, key=lambda folder: folder.count(os.sep)), self._read)

    def news(self, moment: str) -> list[str]:
        """What the next user message has to say about memory files; afterwards it counts as said."""
        self._enter_visited()
        if not self.is_enabled or (moment != "prompt" and not self._is_new_ground):
            return []
        self._is_new_ground = False
        found = self.collect()
        self._report(found.skipped)
        files, too_much = within(found.files, self._session.ctx.settings.get("memory.totalChars"))
        words = [] if self._shown else [INTRODUCTION]
        now = {file.path: file.digest for file in files} | {file.path: "named" for file in too_much}
        fresh = [file for file in files if self._is_news(file, now)]
        words += [_as_words(file, is_change=file.path in self._shown) for file in fresh]
        self._announce(fresh, moment)
        if names := [file.path for file in too_much if self._is_news(file, now)]:
            words.append(f"There was no room for these instruction files. Read them if needed: {', '.join(names)}")
        if gone := [path for path in self._shown if path not in now]:
            words.append(f"These instruction files no longer apply: {', '.join(gone)}")
        if now != self._shown:
            self._shown = now
            self._session.write(LINE, shown=now, folders=list(self._folders), read=list(self._read))
        return words if words != [INTRODUCTION] else []

    def _is_news(self, file: MemoryFile, now: Mapping[str, str]) -> bool:
        return self._shown.get(file.path) != now[file.path]

    def forget(self) -> None:
        """Show everything again with the next message: what was shown is no longer in the conversation."""
        self._shown, self._is_new_ground, self._is_after_summary = {}, True, True

    def add(self, line: str, scope: str = "project") -> Path:
        """Keep a line for later sessions. This one has been told it already, so it is shown the file no more."""
        return add_memory(line, self.workspace, scope)

    def _announce(self, files: Sequence[MemoryFile], moment: str) -> None:
        """Let others hear which files the model is shown, and why."""
        why = "compact" if self._is_after_summary else "session_start" if moment == "prompt" else "nested_traversal"
        self._is_after_summary = False
        trigger = next(reversed(self._read), "") if moment != "prompt" else ""
        for file in files:
            announce_later("InstructionsLoaded", _about(file, why, trigger), self._session.ctx)

    def _report(self, skipped: Mapping[str, str]) -> None:
        """Tell the person once what is not shown, and why."""
        for path, reason in skipped.items():
            if path not in self._told_skips:
                self._told_skips.add(path)
                self._session.emit("notice", message=reason, data={})

    def _filter(self, root: str) -> Callable[[str], bool] | None:
        """What permission rules withhold from reading is not shown either, also in a session without tools."""
        return readable_files(self._session, root)


def _about(file: MemoryFile, why: str, trigger: str) -> dict[str, Any]:
    if file.importer:
        why = "include" if why != "compact" else why
    elif file.globs and why != "compact":
        why = "path_glob_match"
    about: dict[str, Any] = {"file_path": file.path, "memory_type": _kind(file), "load_reason": why}
    found = (("globs", list(file.globs)), ("trigger_file_path", trigger), ("parent_file_path", file.importer))
    return about | {name: value for name, value in found if value}


def _kind(file: MemoryFile) -> str:
    if file.origin == "local":
        return "Local"
    return "User" if file.own else "Project"


def _as_words(file: MemoryFile, *, is_change: bool) -> str:
    origin, path = ORIGINS[file.origin].format(on_one_line(file.importer)), on_one_line(file.path)
    head = f"{path} ({origin}) has changed. It now says:" if is_change else f"Instructions in {path} ({origin}):"
    return "\n\n".join((head, *file.remarks, file.text))
