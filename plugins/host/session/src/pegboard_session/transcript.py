"""The conversation on disk, one line at a time: a crash loses at most the line being written."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from errno import EACCES
from pathlib import Path
from typing import Any, BinaryIO

from pegboard import PegboardError
from pegboard_session.history import as_block

TAIL = 1 << 16
DESCRIBING = frozenset({"session", "system", "as_agent"})
"""The kinds of lines that say what a session is, and not what happens in it."""
USELESS = "The transcript cannot be resumed."


class Transcript:
    """Appends to a JSON-lines file; each line is handed to the operating system before the session continues.

    One at a time: two conversations in one file could not be told apart, so a second writer is a `PegboardError`.
    """

    def __init__(self, path: Path, *, lazy: bool = False, fork_of: Path | None = None) -> None:
        """With `lazy`, nothing is written before the first message: lines that describe the session wait for it.

        A new file begins as a copy of `fork_of`, if that is given.
        """
        self.path, self._fork_of = path, fork_of
        self._waiting: bytes | None = b"" if lazy else None
        self._file: BinaryIO | None = None
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not lazy or path.exists():
            self._file = self._open()
        # Say so now; otherwise it would show only after the person has typed the first prompt.
        elif not os.access(path.parent, os.W_OK):
            raise PermissionError(EACCES, os.strerror(EACCES), str(path.parent))

    def _open(self) -> BinaryIO:
        if self._fork_of and not self.path.exists():
            _copy(self._fork_of, self.path)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        file = os.fdopen(descriptor, "ab", buffering=0)
        try:
            # Held until the file is closed: two processes that append to one conversation would mix their messages.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            name = self.path.stem
            raise PegboardError(f"The session {name} is open in another process. Close it there first.") from None
        # Only with the lock: another process may be in the middle of writing that line.
        cut_torn_line(self.path)
        return file

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self._waiting is not None

    def write(self, kind: str, **data: Any) -> None:
        """One line."""
        text = json.dumps({"type": kind, **data}, ensure_ascii=False, separators=(",", ":"))
        # File names and model output may contain lone surrogates; a line that cannot be written would end the session.
        line = text.encode("utf-8", "surrogatepass") + b"\n"
        if self._waiting is not None:
            line = self._waiting + line
            # Such lines alone are no conversation: a session that was opened and left leaves no file.
            if kind in DESCRIBING:
                self._waiting = line
                return
            self._waiting = None
        if self._file is None:
            self._file = self._open()
        rest = memoryview(line)
        while rest:  # A nearly full disk accepts a part of the line and refuses the rest.
            rest = rest[self._file.write(rest) :]

    def try_to_write(self, kind: str, data: Mapping[str, Any]) -> str:
        """One line; a disk that takes no more closes the file, and its reason is returned."""
        try:
            self.write(kind, **data)
        except OSError as error:
            self.close()
            return error.strerror or type(error).__name__
        return ""

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()


def _copy(source: Path, target: Path) -> None:
    """Copy a transcript and those of its sub-agents."""
    if source.with_suffix("").is_dir():
        shutil.copytree(source.with_suffix(""), target.with_suffix(""))
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with source.open("rb") as old, open(descriptor, "wb") as new:
        shutil.copyfileobj(old, new)


def cut_torn_line(path: Path) -> None:
    """Start a new line if a crash has left half a line at the end."""
    try:
        with path.open("rb+") as file:
            end = file.seek(0, os.SEEK_END)
            whole = _last_line_end(file, end)
            if whole < end:
                file.truncate(whole)
    except FileNotFoundError:
        pass


def _last_line_end(file: BinaryIO, end: int) -> int:
    """The position after the last newline, looked for from the end: a transcript may be long."""
    while end > 0:
        start = max(0, end - TAIL)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a transcript; half a line at the end is passed over, anything else that is broken is named."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise PegboardError(f"There is no transcript {path}. See `pegboard sessions`.") from None
    except OSError as error:
        raise PegboardError(f"{path}: the transcript cannot be read: {error.strerror}.") from None
    with file:
        for number, line in enumerate(file, 1):
            if line == b"\n":
                continue
            try:
                # NaN and the like are words here: earlier versions wrote them, and no request can carry them.
                entry = json.loads(line, parse_constant=str)
            except (ValueError, RecursionError):
                if not line.endswith(b"\n"):
                    return
                raise PegboardError(f"{path}:{number}: this line is not valid JSON. {USELESS}") from None
            try:
                _require_entry(entry)
            except (ValueError, RecursionError) as error:
                reason = f"{path}:{number}: this is not a line of a transcript: {error}."
                raise PegboardError(f"{reason} {USELESS}") from None
            yield entry


def _require_entry(entry: Any) -> None:
    """Raise `ValueError` unless a line has what its kind needs; kinds that are not known here are passed over later."""
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
        raise ValueError("expected an object with a type")
    kind = entry["type"]
    if kind == "user":
        if not isinstance(entry.get("content"), list):
            raise ValueError("a user line needs content")
        for block in entry["content"]:
            as_block(block)
    elif kind in ("block", "result"):
        block = as_block(entry.get("block"))
        if kind == "result" and block["type"] != "tool_result":
            raise ValueError("a result line needs a tool_result")
    elif kind == "change":
        _require_change(entry)
    elif kind == "cleared":
        for block in _list(entry, "notes"):
            if as_block(block)["type"] != "tool_result":
                raise ValueError("notes must be tool_result blocks")
    elif kind == "compacted":
        for message in _list(entry, "messages"):
            if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
                raise ValueError("a message needs a role")
            for block in _list(message, "content"):
                as_block(block)


def _list(entry: dict[str, Any], name: str) -> list[Any]:
    found = entry.get(name)
    if not isinstance(found, list):
        raise ValueError(f"{name} must be a list")
    return found


def _require_change(entry: dict[str, Any]) -> None:
    if not isinstance(entry.get("cwd"), str | None) or not isinstance(entry.get("mode"), str | None):
        raise ValueError("a change needs a folder and a known mode")
    names = entry.get("loaded_tools", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("loaded_tools must be a list of tool names")
