"""The shared memory of files, and the one safe way to write: at every moment a file is its old or its new bytes."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from pathlib import Path

from pegboard.errors import ToolError
from pegboard.services import FileState


class LocalFiles:
    """File state of one conversation on this machine."""

    def __init__(self, known: dict[str, FileState] | None = None) -> None:
        self._known = dict(known or {})

    def known(self, path: Path) -> FileState | None:
        """What the conversation last saw of this file, or None."""
        return self._known.get(os.path.realpath(path))

    def note(self, path: Path, state: FileState) -> None:
        """Remember what was just shown or written."""
        self._known[os.path.realpath(path)] = state

    def forget(self, path: Path) -> None:
        """Somebody else may have changed this file."""
        self._known.pop(os.path.realpath(path), None)

    def fork(self) -> LocalFiles:
        """A copy for a sub-agent."""
        return LocalFiles(self._known)

    def write(self, path: Path, data: bytes, *, expected_digest: str | None = None) -> FileState:
        """Replace a file: a new file beside it is filled, synced and renamed over it; its mode is kept."""
        target = Path(os.path.realpath(path))
        mode = _mode(target)
        if expected_digest is not None and digest(_read(target)) != expected_digest:
            raise ToolError(f"{path} has changed since it was read. Read it again before changing it.", code="stale")
        part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.pegboard-part")
        try:
            _fill(part, data, mode)
            part.replace(target)
            _sync_folder(target.parent)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ToolError(f"{path} cannot be written: {error.strerror}. It is as it was.", code="internal") from None
        made = target.stat()
        state = FileState(digest(data), len(data), made.st_mtime_ns, source="write")
        self.note(target, state)
        return state


def digest(data: bytes) -> str:
    """A name for exactly these bytes."""
    return hashlib.sha256(data).hexdigest()


def _mode(target: Path) -> int:
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return 0o666 & ~_umask()
    if not stat.S_ISREG(found):
        raise ToolError(f"{target} is not a regular file and cannot be replaced.", code="unsupported")
    return stat.S_IMODE(found)


def _umask() -> int:
    """The process's umask; reading it any other way sets it, and that races with other threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def _read(target: Path) -> bytes:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return b""


def _fill(part: Path, data: bytes, mode: int) -> None:
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
