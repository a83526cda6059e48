"""What the heads of skills say, kept by the stat of each file: a start with hundreds of skills parses none of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pegboard.settings import cache_dir, private_folder
from pegboard_definitions import FaultError
from pegboard_skill.skill_file import Head, read_head

FILE = "skills.json"
VERSION = 2
MOST = 5_000


class SkillIndex:
    """The heads of one cache folder. One that cannot be kept is made anew in each process."""

    def __init__(self, folder: str | None) -> None:
        self._file = Path(folder, FILE) if folder else None
        self._known: dict[str, list[Any]] = self._load()
        self._seen: set[str] = set()
        self._changed = False

    @classmethod
    def of(cls, env: Mapping[str, str]) -> SkillIndex:
        """The index of this environment; one for all sessions of a process."""
        return _index(cache_dir(env))

    def head(self, path: str, default_name: str, *, is_command: bool) -> Head | str:
        """The head of a file, or what is wrong with it."""
        try:
            found = os.stat(path)
        except OSError as error:
            return f"{path}:1: The file cannot be read: {error.strerror}."
        stamp = [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, default_name]
        self._seen.add(path)
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1] if isinstance(known[1], str) else Head.of(known[1])
        try:
            head: Head | str = read_head(Path(path), default_name, is_command=is_command)
        except FaultError as fault:
            head = str(fault)
        self._known[path] = [stamp, head if isinstance(head, str) else head.as_data()]
        self._changed = True
        return head

    def value(self, key: str, stamp: list[Any]) -> Any:
        """Something else that was kept under a name, as long as its stamp is the same; else None."""
        known = self._known.get(key)
        self._seen.add(key)
        return known[1] if known is not None and known[0] == stamp else None

    def keep(self, key: str, stamp: list[Any], value: Any) -> None:
        """Keep something else."""
        self._known[key], self._changed = [stamp, value], True

    def save(self) -> None:
        """Write what is new. Another process may write at the same time: the last one counts, and none is broken."""
        if not self._changed or self._file is None or private_folder(self._file.parent) is None:
            return
        self._changed = False
        if len(self._known) > MOST:
            self._known = {path: known for path, known in self._known.items() if path in self._seen}
        part = self._file.with_name(f"{FILE}.{os.getpid()}")
        try:
            part.write_text(json.dumps({"version": VERSION, "files": self._known}), "utf-8")
            part.replace(self._file)
        except OSError:
            part.unlink(missing_ok=True)

    def _load(self) -> dict[str, list[Any]]:
        try:
            data = json.loads(self._file.read_text("utf-8")) if self._file else {}
            files: dict[str, list[Any]] = data["files"] if data.get("version") == VERSION else {}
            for _stamp, known in files.values():
                if isinstance(known, dict):
                    Head.of(known)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # Damaged or of another version: it is made anew.
        return files


@lru_cache(maxsize=8)
def _index(folder: str | None) -> SkillIndex:
    return SkillIndex(folder)
