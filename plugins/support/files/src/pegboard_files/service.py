"""The shared memory of files: what a conversation has seen of them, and the one safe way to write."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pegboard.settings import private_folder
from pegboard_files.file_states import add_up, merged
from pegboard_files.interface import FileEvent, FileListener, FileState, Undo, Written
from pegboard_files.leftovers import Leftovers
from pegboard_files.locks import path_lock
from pegboard_files.safe_open import folder_of, real_path
from pegboard_files.safe_remove import look_again, real_file, rename, unlink
from pegboard_files.safe_write import OriginalFile, Replaced, digest, failure, look, replace_content
from pegboard_files.undo import RETENTION_DAYS, UndoStore

log = logging.getLogger("pegboard")

SETTLED_NS = 2_000_000_000
"""A file changed this recently may change again without its times telling: clocks of file systems are coarse."""
CHUNK = 1 << 20


class _SharedFiles:
    """What all agents of a session have in common."""

    def __init__(self, state: Path | None) -> None:
        self.state = state
        self.leftovers = Leftovers(state and state / "writing")
        self.undo = UndoStore(state and state / "undo")
        self.locks = state and state / "locks"
        self.listeners: list[FileListener] = []
        self.entries: list[Undo] = []
        self.scratch: dict[str, Path] = {}
        self.guard = threading.Lock()


class LocalFiles:
    """File state of one conversation on this machine."""

    def __init__(self, state: str | os.PathLike[str] | None = None, *, shared: _SharedFiles | None = None) -> None:
        """Keep lock files, earlier contents and notes below `state`; without it, only threads are kept apart."""
        self._shared = shared or _SharedFiles(Path(state) if state is not None else None)
        self._known: dict[str, FileState] = {}
        self._views: dict[str, set[str]] | None = None
        """What is in the conversation. None without one: then nothing counts as already seen."""
        if shared is None:
            self._shared.leftovers.remove_old()

    def known(self, path: Path) -> FileState | None:
        """What the conversation last saw of this file, or None."""
        return self._known.get(os.path.realpath(path)) if self._known else None

    def known_paths(self) -> list[Path]:
        """Every file that the conversation has seen or written."""
        return [Path(path) for path in self._known]

    def note(self, path: Path, state: FileState, view: str = "") -> None:
        """Remember what was just shown."""
        real = os.path.realpath(path)
        if view and self._views is not None:
            self._views.setdefault(real, set()).add(view)
        self._known[real] = add_up(self._known.get(real), state)
        self._tell(FileEvent("read", Path(real), state))

    def forget(self, path: Path) -> None:
        """Forget a file that another program may have changed."""
        real = os.path.realpath(path)
        self._known.pop(real, None)
        self._drop_views(real)

    def is_current(self, path: Path, state: FileState) -> bool:
        """Whether the file still has this content."""
        try:
            now = os.stat(path)
            if now.st_size != state.size:
                return False
            if state.settled and (now.st_mtime_ns, now.st_ctime_ns) == (state.mtime_ns, state.ctime_ns):
                return True
            return bool(state.digest) and file_digest(path) == state.digest
        except OSError:
            return False

    def lock(self, path: Path) -> AbstractContextManager[None]:
        """Keep other threads and processes from changing the file."""
        return path_lock(os.path.realpath(path), self._shared.locks)

    def write(
        self,
        path: Path,
        data: bytes,
        *,
        expected_digest: str | None = None,
        like: FileState | None = None,
        approved_paths: Mapping[str, bool] | None = None,
    ) -> Written:
        """Replace a file; links on the way to it are followed here, once, and must lead to what was judged."""
        target, shared = Path(real_path(path, approved_paths, change=True)), self._shared
        with path_lock(str(target), shared.locks), _folder(target) as folder:
            before = look(folder, target)
            stored = shared.undo.keep(before.data, before.digest)
            done = replace_content(target, data, expected_digest, shared.leftovers, folder, before)
        style = like or FileState("", 0, 0)
        state = replace(
            stat_state(done.stat, done.digest),
            size=len(data),
            encoding=style.encoding,
            newline=style.newline,
            mixed=style.mixed,
            bom=style.bom,
            complete=style.complete,
            source="write",
        )
        self._known[str(target)] = state
        self._drop_views(str(target))
        undo = shared.undo.entry(target, done, stored)
        shared.entries.append(undo)
        self._tell(FileEvent("written", target, state, undo))
        return Written(state, undo, (*_remarks(done), *done.notes))

    def remove(self, path: Path, *, expected_digest: str, approved_paths: Mapping[str, bool] | None = None) -> Undo:
        """Delete a file that is still what was read."""
        target, shared = real_file(path, approved_paths), self._shared
        with path_lock(str(target), shared.locks), _folder(target) as folder:
            before = look_again(folder, target, expected_digest)
            stored = shared.undo.keep(before.data, before.digest)
            unlink(folder, target)
        return self._gone(target, before, stored)

    def move(
        self, path: Path, to: Path, *, expected_digest: str, approved_paths: Mapping[str, bool] | None = None
    ) -> tuple[Undo, Undo]:
        """Rename a file that is still what was read to a name that is free."""
        target, shared = real_file(path, approved_paths), self._shared
        place = Path(real_path(to, approved_paths, change=True))
        with path_lock(str(target), shared.locks), _folder(target) as folder:
            before = look_again(folder, target, expected_digest)
            stored = shared.undo.keep(before.data, before.digest)
            found = rename(folder, target, place)
        known = self._known.get(str(target))
        undo = self._gone(target, before, stored)
        state = stat_state(found, before.digest)
        if known and known.digest == before.digest:
            state = self._known[str(place)] = replace(known, mtime_ns=state.mtime_ns, ctime_ns=state.ctime_ns)
        made = Undo(place, "", before.digest, None, 0, time.time_ns())
        shared.entries.append(made)
        self._tell(FileEvent("written", place, state, made))
        return undo, made

    def _gone(self, target: Path, before: OriginalFile, stored: Path | None) -> Undo:
        """A name is no longer there."""
        mode = stat.S_IMODE(before.stat.st_mode) if before.stat else 0
        undo = Undo(target, before.digest, "", stored, mode, time.time_ns())
        self._known.pop(str(target), None)
        self._drop_views(str(target))
        self._shared.entries.append(undo)
        self._tell(FileEvent("removed", target, FileState("", 0, 0), undo))
        return undo

    def shows_again(self, path: Path, view: str) -> bool:
        """Whether this view of an unchanged file is still in the conversation; yes only once."""
        if not self._views:
            return False
        real = os.path.realpath(path)
        views, state = self._views.get(real), self._known.get(real)
        if not views or view not in views or state is None:
            return False
        views.discard(view)
        return self.is_current(path, state)

    def forget_views(self) -> None:
        """Earlier results have left the conversation."""
        if self._views is not None:
            self._views.clear()

    def scratch(self, name: str) -> Path:
        """A private folder for what belongs to a result but not into it."""
        shared = self._shared
        with shared.guard:
            if name not in shared.scratch:
                place = private_folder(shared.state / "scratch") if shared.state else None
                if place:
                    _remove_old_folders(place)
                shared.scratch[name] = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=place))
            return shared.scratch[name]

    def listen(self, listener: FileListener) -> Callable[[], None]:
        """Be told after each read and write."""
        self._shared.listeners.append(listener)

        def end() -> None:
            with suppress(ValueError):
                self._shared.listeners.remove(listener)

        return end

    def undo_entries(self) -> list[Undo]:
        """Every write of this session, newest last."""
        return list(self._shared.entries)

    def fork(self, *, conversation: bool = False) -> LocalFiles:
        """A copy that knows the same files. In a new `conversation` nothing of them has been shown yet."""
        made = LocalFiles(shared=self._shared)
        made._known = dict(self._known)
        made._views = {} if conversation else None
        return made

    def as_data(self) -> dict[str, dict[str, Any]]:
        """What is known, as plain data for a transcript."""
        return {path: asdict(state) for path, state in self._known.items()}

    def restore(self, data: Mapping[str, Mapping[str, Any]]) -> None:
        """Take up what an earlier process knew. Views stay forgotten: their results may not have come along."""
        for path, fields in data.items():
            ranges = tuple((int(first), int(last)) for first, last in fields.get("ranges", ()))
            rest = {name: value for name, value in fields.items() if name != "ranges"}
            self._known[path] = FileState(**rest, ranges=ranges)

    def _drop_views(self, real: str) -> None:
        if self._views:
            self._views.pop(real, None)

    def _tell(self, event: FileEvent) -> None:
        for listener in tuple(self._shared.listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener of the file service failed")


@contextmanager
def _folder(target: Path) -> Generator[int, None, None]:
    """The folder of a file, open; an error in closing it must not make a finished write look like a failed one."""
    opened = folder_of(str(target))
    try:
        descriptor, _ = opened.__enter__()
    except OSError as error:
        raise failure(target, error) from None
    try:
        yield descriptor
    finally:
        with suppress(OSError):
            opened.__exit__(None, None, None)


def _remove_old_folders(place: Path) -> None:
    """Remove what earlier sessions stored with their results, once it is no longer needed."""
    limit = time.time() - RETENTION_DAYS * 86_400
    for entry in os.scandir(place):
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < limit:
                shutil.rmtree(entry, ignore_errors=True)


def stat_state(found: os.stat_result, content_digest: str) -> FileState:
    """What is known of a file by its bytes and its `stat` alone."""
    settled = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > SETTLED_NS
    return FileState(content_digest, found.st_size, found.st_mtime_ns, ctime_ns=found.st_ctime_ns, settled=settled)


def file_digest(path: str | os.PathLike[str]) -> str:
    """The digest of a file of any size."""
    with open(path, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


__all__ = ["LocalFiles", "digest", "file_digest", "merged", "stat_state"]


def _remarks(done: Replaced) -> tuple[str, ...]:
    """What the caller should know about the file that was there before."""
    before = done.before.stat
    if before is not None and not before.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        return ("The file is marked read-only and was changed anyway.",)
    return ()
