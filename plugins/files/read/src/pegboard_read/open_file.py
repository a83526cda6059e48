"""Open a file that can be read to its end, and explain every other path without opening it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from pegboard import Context, ToolError
from pegboard.wording import nearest
from pegboard_files.safe_open import open_approved

MOST_NAMES = 5000
SPECIAL = {
    stat.S_IFIFO: "a named pipe; reading it would block until a process writes to it",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device, which may never end",
    stat.S_IFBLK: "a block device",
}


def shown(text: object) -> str:
    """A path as valid text: bytes that are not UTF-8 become escapes."""
    return str(text).encode("utf-8", "backslashreplace").decode()


def look_at(path: Path, cwd: Path) -> os.stat_result:
    """The `stat` of a regular file or a folder; anything else is refused here, before it is opened."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise explained(path, cwd, error) from None
    except ValueError:
        raise ToolError(f"{shown(path)!r} is not a valid path: it contains a NUL character.") from None
    _refuse_special(path, found)
    return found


def open_regular(path: Path, ctx: Context) -> tuple[BinaryIO, os.stat_result]:
    """Open a file without ever blocking; its type is checked again once it is open."""
    try:
        descriptor = open_approved(path, ctx.approved_paths, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise explained(path, ctx.cwd, error) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        _refuse_special(path, found)
        raise ToolError(f"{shown(path)} changed while it was being opened. Try again.", code="stale")
    return os.fdopen(descriptor, "rb", buffering=0), found


def _refuse_special(path: Path, found: os.stat_result) -> None:
    kind = SPECIAL.get(stat.S_IFMT(found.st_mode))
    if kind:
        raise ToolError(f"{shown(path)} is {kind}. Only regular files and folders can be read.", code="unsupported")


def explained(path: Path, cwd: Path, error: OSError) -> ToolError:
    """Why a path cannot be opened, and what to do about it."""
    name = shown(path)
    if error.errno == errno.ENOENT:
        return ToolError(_missing(path, cwd), code="not_found")
    if error.errno == errno.ELOOP:
        return ToolError(f"{name} is a symbolic link that points back to itself.", code="invalid_input")
    if error.errno == errno.ENAMETOOLONG:
        return ToolError(f"Part of the path {name[:80]}… is longer than 255 bytes, the limit for a file name.")
    if error.errno == errno.ENOTDIR:
        return ToolError(f"Part of the path {name} is a file, not a folder. Check the path.", code="not_found")
    if error.errno in (errno.EACCES, errno.EPERM):
        reason = f"{name} cannot be read: the operating system denies permission."
        return ToolError(f"{reason} Continue without it, or ask the user.", code="permission_denied")
    remedy = "It may not be an ordinary file; use Bash if you need it."
    return ToolError(f"{name} cannot be read: {error.strerror or error}. {remedy}", code="unsupported")


def _missing(path: Path, cwd: Path) -> str:
    if path.is_symlink():
        target = shown(os.readlink(path))
        return f"{shown(path)} is a symbolic link to {target}, which does not exist."
    names = _names(path.parent)
    bare = path.name.strip()
    if bare != path.name and bare in names:
        return f"There is no file {shown(path)!r}, but there is {bare!r} without the spaces around it."
    spaced = [name for name in names if name.strip() == path.name]
    close = spaced or nearest(path.name, names, limit=3)
    if not names and not path.parent.is_dir():
        return f"There is no folder {shown(path.parent)}. The working directory is {cwd}."
    hint = (
        f" Did you mean {', '.join(repr(shown(name)) if spaced else shown(name) for name in close)}?" if close else ""
    )
    return f"There is no file {shown(path)}.{hint} The working directory is {cwd}."


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False)]
    except OSError:
        return []
