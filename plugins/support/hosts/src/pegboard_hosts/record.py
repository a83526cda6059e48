"""The record of this host: what it would leave behind if it were killed now.

The record is a file below the state directory, and the host holds a lock on it. The kernel frees the lock when the host
ends, however it ends, so a record without a lock is that of a dead host. A record exists only while there is something
to leave: a host that ends well has none.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pegboard_settings import state_dir

SUFFIX = ".jsonl"


class Note:
    """Something that this host would leave behind. Call `done()` when it is gone."""

    def __init__(self, record: _Record | None, kind: str, name: str) -> None:
        self._record, self._kind, self._name = record, kind, name

    def done(self) -> None:
        """There is nothing left of it."""
        record, self._record = self._record, None
        if record:
            record.remove(self._kind, self._name)


def host_id() -> str:
    """What tells this process from every other host. A forked child is another host."""
    return _this.id


def note(kind: str, name: str = "", env: Mapping[str, str] | None = None) -> Note:
    """Say that this host is about to make something that would survive a kill.

    `kind` is the name of an entry point in the group `pegboard.leftovers`, and `name` tells it what to remove. Where
    there is no place for a record nothing is noted, and nothing is found again.
    """
    folder = hosts_folder(os.environ if env is None else env)
    if folder is None:
        return Note(None, kind, name)
    with _this.guard:
        record = _this.records.setdefault(folder, _Record(folder))
        try:
            record.add(kind, name)
        except OSError:
            return Note(None, kind, name)
    return Note(record, kind, name)


def hosts_folder(env: Mapping[str, str]) -> str | None:
    """Where the records of all hosts of this state directory are."""
    state = state_dir(env)
    return os.path.join(state, "hosts") if state else None


class _Record:
    """One file with a first line about the host, and a line for each thing that is made or gone."""

    def __init__(self, folder: str) -> None:
        self.folder, self._file, self._path = folder, -1, ""
        self._left: Counter[tuple[str, str]] = Counter()

    def add(self, kind: str, name: str) -> None:
        """Write it down before it is made. Only under the guard."""
        if self._file < 0:
            self._open()
        if not self._left[kind, name]:
            self._write({"made": kind, "name": name})
        self._left[kind, name] += 1

    def remove(self, kind: str, name: str) -> None:
        """Write down that it is gone, or remove the record when that was the last."""
        with _this.guard:
            self._left[kind, name] -= 1
            if self._left[kind, name] > 0 or self._file < 0:
                return
            del self._left[kind, name]
            if self._left:
                with suppress(OSError):
                    self._write({"gone": kind, "name": name})
                return
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        name = f"{_this.id}{secrets.token_hex(4)}"
        part = f"{self.folder}/{name}.new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(part, flags, 0o600)
        try:
            # Locked before it has its final name, so that no other process takes a new record for a dead one.
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._write({"host": _this.id, "pid": os.getpid(), "machine": os.uname().nodename})
            self._path = f"{self.folder}/{name}{SUFFIX}"
            os.rename(part, self._path)
        except OSError:
            os.close(self._file)
            self._file = -1
            with suppress(OSError):
                os.unlink(part)
            raise

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def leave(self) -> None:
        """Forget the file without touching it: it belongs to the process that forked this one."""
        if self._file >= 0:
            os.close(self._file)


class _ThisHost:
    """What belongs to one process."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(8)
        self.guard = threading.Lock()
        self.records: dict[str, _Record] = {}


_this = _ThisHost()


def _after_fork() -> None:
    global _this
    for record in _this.records.values():
        record.leave()
    _this = _ThisHost()


os.register_at_fork(after_in_child=_after_fork)
