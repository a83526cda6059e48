"""Replace a file so that at every moment, even in a power cut, it is its old or its new bytes.

    note the name of the new file (a killed process leaves it behind, the next start removes it)
    → fill it beside the target, give it the target's owner, mode and attributes, sync it
    → look at the target once more: still the same bytes? → rename → sync the folder

All steps go through one descriptor of the folder: what a link points to cannot be exchanged between them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pegboard import ToolError
from pegboard_files.leftovers import Leftovers, new_name

IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY)
"""What the kernel says where a file may be written but not replaced: a folder without permission, a mounted file."""


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """A file as it was found."""

    data: bytes
    digest: str
    stat: os.stat_result | None
    """None when there was no file; the digest is empty then."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A file that was written."""

    before: OriginalFile
    digest: str
    stat: os.stat_result
    notes: tuple[str, ...]


def digest(data: bytes) -> str:
    """A name for exactly these bytes."""
    return hashlib.sha256(data).hexdigest()


def look(folder: int, target: Path) -> OriginalFile:
    """The target as it is now; only a regular file will do."""
    try:
        # O_NONBLOCK: opening a named pipe that was put there must not wait for a writer.
        descriptor = os.open(target.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return OriginalFile(b"", "", None)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ToolError(f"{target} is now a symbolic link. Nothing was written.", code="stale") from None
        raise failure(target, error) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"{target} is not a regular file and cannot be replaced.", code="unsupported")
        data = _read_all(descriptor, found.st_size)
    except OSError as error:
        raise failure(target, error) from None
    finally:
        close_quietly(descriptor)
    return OriginalFile(data, digest(data), found)


def _read_all(descriptor: int, size: int) -> bytes:
    pieces = list[bytes]()
    while piece := os.read(descriptor, max(size, 65_536)):
        pieces.append(piece)
    return b"".join(pieces)


def replace_content(
    target: Path, data: bytes, expected_digest: str | None, leftovers: Leftovers, folder: int, before: OriginalFile
) -> Replaced:
    """Write `data` to a real path whose folder is open and whose content is `before`."""
    if expected_digest is not None and before.digest != expected_digest:
        raise changed(target)
    # A rename would leave the other names of the file with the old content.
    if before.stat is not None and before.stat.st_nlink > 1:
        return _write_in_place(target, data, folder, before, f"It has {before.stat.st_nlink} hard links")
    part = target.with_name(new_name())
    # On record before it exists, so that a process killed in between leaves nothing unknown behind.
    note = leftovers.note(part)
    try:
        made, notes = _fill(part, data, target if before.stat else None, folder)
        _refuse_changed(target, folder, before)
        os.rename(part.name, target.name, src_dir_fd=folder, dst_dir_fd=folder)
    # Also a cancellation or Ctrl-C: the half-written part must not stay behind.
    except BaseException as error:
        with suppress(OSError):
            os.unlink(part.name, dir_fd=folder)
        if not isinstance(error, OSError):
            raise
        if error.errno in IN_PLACE and before.stat is not None:
            return _write_in_place(target, data, folder, before, f"It cannot be replaced ({error.strerror})")
        raise failure(target, error) from None
    finally:
        leftovers.done(note)
    notes += _sync_folder(folder)
    with suppress(
        OSError
    ):  # The rename changed one of its times; failing to learn which must not look like a failed write.
        made = os.stat(target.name, dir_fd=folder, follow_symlinks=False)
    return Replaced(before, digest(data), made, notes)


def _fill(part: Path, data: bytes, like: Path | None, folder: int) -> tuple[os.stat_result, tuple[str, ...]]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # Private until it has the mode of the target: its content may be secret.
    descriptor = os.open(part.name, flags, 0o600, dir_fd=folder)
    try:
        _write_all(descriptor, data)
        if like is None:
            # The mode that open() would have given a new file; it was created private.
            os.fchmod(descriptor, 0o666 & ~_umask())
            notes: tuple[str, ...] = ()
        else:
            notes = _dress(descriptor, like, folder)
        os.fsync(descriptor)
        return os.fstat(descriptor), notes
    finally:
        close_quietly(descriptor)


def _dress(descriptor: int, like: Path, folder: int) -> tuple[str, ...]:
    """Give a file the owner, mode and attributes of another. Owner first: changing it takes set-user-ID away."""
    model = os.open(like.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        theirs, mine = os.fstat(model), os.fstat(descriptor)
        mode = stat.S_IMODE(theirs.st_mode)
        notes: tuple[str, ...] = ()
        if (mine.st_uid, mine.st_gid) != (theirs.st_uid, theirs.st_gid):
            try:
                os.fchown(descriptor, theirs.st_uid, theirs.st_gid)
            except PermissionError:
                # Without the owner, set-user-ID and set-group-ID would give rights to the wrong user.
                mode &= 0o777
                notes = ("You now own the file: only the superuser can keep another owner.",)
        # Before the mode: an access list that is copied would change the mode again.
        _copy_attributes(model, descriptor)
        os.fchmod(descriptor, mode)
    finally:
        close_quietly(model)
    return notes


def _copy_attributes(source: int, target: int) -> None:
    """Extended attributes, access lists among them, as far as the file system lets us."""
    with suppress(OSError, AttributeError):
        for name in os.listxattr(source):
            with suppress(OSError):
                os.setxattr(target, name, os.getxattr(source, name))


def _write_in_place(target: Path, data: bytes, folder: int, before: OriginalFile, why: str) -> Replaced:
    """For what must keep its inode. Not safe in a power cut, so the caller is told; a failure is taken back."""
    try:
        descriptor = os.open(target.name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise failure(target, error) from None
    try:
        _refuse_changed(target, folder, before)
        try:
            _overwrite(descriptor, data)
        except OSError as error:
            with suppress(OSError):
                _overwrite(descriptor, before.data)
            raise failure(target, error, was_taken_back=look(folder, target).digest == before.digest) from None
        # A value to fall back on, if the second look below fails.
        made = before.stat or os.fstat(descriptor)
        with suppress(OSError):  # Failing to learn the new times must not look like a failed write.
            made = os.fstat(descriptor)
    finally:
        close_quietly(descriptor)
    return Replaced(before, digest(data), made, (f"{why}, so it was written in place and not replaced.",))


def _overwrite(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write_all(descriptor, data)
    # Truncated last: if writing fails, there is no moment at which the file is empty.
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _refuse_changed(target: Path, folder: int, before: OriginalFile) -> None:
    if look(folder, target).digest != before.digest:
        raise changed(target)


def _sync_folder(folder: int) -> tuple[str, ...]:
    """The new bytes are there already; that the disk has not confirmed the name is worth a remark, not a failure."""
    try:
        os.fsync(folder)
    except OSError as error:
        return (f"The disk did not confirm the change ({error.strerror}); a power cut may undo it.",)
    return ()


def close_quietly(descriptor: int) -> None:
    """Let go of a descriptor. What it was opened for is done and synced by now; an error here changes nothing."""
    with suppress(OSError):
        os.close(descriptor)


def _umask() -> int:
    """The process's umask; reading it any other way sets it, and that races with other threads."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def changed(target: Path) -> ToolError:
    """The error for a file that changed since it was read."""
    return ToolError(f"{target} has changed since it was read. Read it again before changing it.", code="stale")


def failure(path: Path, error: OSError, *, was_taken_back: bool = True) -> ToolError:
    """Why a file cannot be written, and what has become of it."""
    code = "permission_denied" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else "failed"
    state = "It was not changed." if was_taken_back else "It may be damaged: check it before you continue."
    return ToolError(
        f"{path} cannot be written: {error.strerror or error}. {state}",
        code=code if was_taken_back else "lost",
        remedy="",
    )
