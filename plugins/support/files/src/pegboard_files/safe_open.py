"""Open what was judged, and nothing else, however links are moved in the meantime.

A decision is about real paths. Between the decision and the act a link can be swapped, so a tool that opens by name may
open another file. Here a path is opened without following any link, or only links that stay beneath a folder, and what
was opened is compared with what was judged.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache

from pegboard import ToolError, resolve_path

RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH = 0x02, 0x04, 0x08
OPENAT2 = 437
"""The number of the system call, the same on every architecture."""

AGAIN = 64
"""How often the kernel may say that something was renamed while it looked."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
MOVED = (errno.ELOOP, errno.EXDEV)
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: str | os.PathLike[str], path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """A descriptor for a path at or below `root`. Relative links may lead elsewhere below `root`; others are refused.

    `path` is absolute or relative to `root`. Raises `ToolError` where it leads out, `OSError` as `os.open` does.
    """
    base = os.fspath(root)
    # relpath() is textual and may start with "..": RESOLVE_BENEATH refuses that, so it is no way out.
    name = os.path.relpath(path, base) if os.path.isabs(path) else os.fspath(path)
    folder = os.open(base, FOLDER)
    try:
        return _open(folder, name, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)
    except OSError as error:
        raise _moved(path, error) from None
    finally:
        os.close(folder)


def open_exactly(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """A descriptor for an absolute path that has no links in it: one that has appeared since is refused."""
    name = os.path.normpath(path)
    folder = os.open("/", FOLDER)
    try:
        return _open(folder, name.lstrip("/") or ".", flags, mode, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
    except OSError as error:
        raise _moved(path, error) from None
    finally:
        os.close(folder)


def open_approved(
    path: str | os.PathLike[str], approved_paths: Mapping[str, bool] | None, flags: int, mode: int = 0o666
) -> int:
    """A descriptor for the file that a path means, if that is one of the real paths that were judged.

    `approved_paths` is `ctx.approved_paths`; None means that the call was not checked (a test, a library user), and any
    file will do.
    """
    real = real_path(path, approved_paths, change=bool(flags & CHANGING))
    descriptor = open_exactly(real, flags, mode)
    try:
        check_landing(descriptor, real)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def real_path(path: str | os.PathLike[str], approved_paths: Mapping[str, bool] | None, *, change: bool) -> str:
    """The path without links; a `ToolError` if it leads to a place that was not judged, or not for changing it."""
    found = resolve_path(os.path.abspath(path) if not os.path.isabs(path) else os.fspath(path))
    # The last spelling has no links left; permission was decided on exactly this one.
    real = found.spellings[-1]
    if not found.sound or (
        approved_paths is not None and not (approved_paths.get(real, False) if change else real in approved_paths)
    ):
        reason = f"{os.fspath(path)} resolves to a different file than the one that was allowed, so nothing was done."
        raise ToolError(reason, code="stale")
    return real


@contextmanager
def folder_of(real: str) -> Generator[tuple[int, str]]:
    """The folder of a link-free path, opened, and the last name: for making and renaming files with `dir_fd`.

    All that follows happens in this very folder, wherever its name may point by then.
    """
    parent, name = os.path.split(real)
    descriptor = open_exactly(parent, FOLDER)
    try:
        check_landing(descriptor, parent)
        yield descriptor, name
    finally:
        os.close(descriptor)


def check_landing(descriptor: int, real: str) -> None:
    """Refuse a descriptor that is not the file at this path, as the kernel names it."""
    try:
        landed = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return  # No /proc here; the path was opened without following links, which is the stronger half.
    if landed.removesuffix(" (deleted)") != real:  # A file that was replaced just now was still the right one.
        raise ToolError(f"{real} was moved while it was being opened, so nothing was done.", code="stale")


def _moved(path: str | os.PathLike[str], error: OSError) -> Exception:
    if error.errno not in MOVED:
        return error
    words = f"{os.fspath(path)} resolves through a link to a path that was not allowed, so nothing was done."
    return ToolError(words, code="permission_denied")


def _open(folder: int, name: str, flags: int, mode: int, resolve: int) -> int:
    if not has_openat2():
        return walk(folder, name, flags, mode)
    creating = flags & (os.O_CREAT | os.O_TMPFILE) not in (0, os.O_DIRECTORY)
    # openat2 rejects a mode without O_CREAT or O_TMPFILE, where open() ignores it.
    how = _How(flags | os.O_CLOEXEC, mode if creating else 0, resolve)
    # With RESOLVE_BENEATH the kernel answers EAGAIN if something is renamed meanwhile, and asks us to try again.
    for _ in range(AGAIN):
        try:
            return _openat2(folder, name, how)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise
    # The kernel keeps seeing renames: go name by name, which is stricter and cannot be disturbed.
    return walk(folder, name, flags, mode)


def walk(folder: int, name: str, flags: int, mode: int) -> int:
    """Open name by name without following any link: for kernels without openat2. Links inside are refused too."""
    # A copy, because each step closes the folder it came from, and the first one is the caller's.
    here = os.dup(folder)
    names = [part for part in name.split("/") if part not in ("", ".")]
    try:
        for part in names[:-1]:
            # ".." of an open folder is wherever the folder was moved to, so it is never followed.
            _refuse_upwards(part)
            below = _enter(part, here)
            os.close(here)
            here = below
        last = names[-1] if names else "."
        _refuse_upwards(last)
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=here)
    finally:
        os.close(here)


def _enter(part: str, here: int) -> int:
    try:
        return os.open(part, FOLDER | os.O_NOFOLLOW, dir_fd=here)
    except NotADirectoryError:
        # O_DIRECTORY hides the ELOOP of O_NOFOLLOW behind ENOTDIR, so a link has to be recognised here.
        if stat.S_ISLNK(os.stat(part, dir_fd=here, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
        raise


def _refuse_upwards(part: str) -> None:
    if part == "..":
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), part)


@cache
def has_openat2() -> bool:
    """Whether this kernel, and whatever filters its calls, lets us open beneath a folder."""
    folder = os.open("/", FOLDER)
    try:
        os.close(_openat2(folder, ".", _How(FOLDER, 0, RESOLVE_BENEATH)))
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _openat2(folder: int, name: str, how: _How) -> int:
    number, place, size = ctypes.c_long(OPENAT2), ctypes.c_char_p(os.fsencode(name)), ctypes.sizeof(how)
    made: int = _libc().syscall(number, ctypes.c_int(folder), place, ctypes.byref(how), ctypes.c_size_t(size))
    if made < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return made


def is_regular(descriptor: int) -> bool:
    """Whether what was opened is a plain file: no pipe, device or folder that was put in its place."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
