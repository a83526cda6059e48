"""Open a file that can be read to its end, and explain every other path without opening it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from pegboard import Context, ToolError
from pegboard.host.beneath import open_judged
from pegboard.nearest import nearest

MOST_NAMES = 5000
SPECIAL = {
    stat.S_IFIFO: "a named pipe; reading it would wait for somebody to write",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device, which may never end",
    stat.S_IFBLK: "a block device",
}


def shown(text: object) -> str:
    """A path as text that can travel: bytes that are no UTF-8 become escapes."""
    return str(text).encode("utf-8", "backslashreplace").decode()


def look_at(path: Path, cwd: Path) -> os.stat_result:
    """The `stat` of a regular file or a folder; all else is refused here, before anything is opened."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise explained(path, cwd, error) from None
    except ValueError:
        raise ToolError(f"{shown(path)!r} cannot be a path: it holds a character that no path can hold.") from None
    _refuse_special(path, found)
    return found


def open_regular(path: Path, ctx: Context) -> tuple[BinaryIO, os.stat_result]:
    """Open a file without ever waiting; what it is, is asked again of the open file."""
    try:
        descriptor = open_judged(path, ctx.judged, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise explained(path, ctx.cwd, error) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        _refuse_special(path, found)
        raise ToolError(f"{shown(path)} changed while it was opened. Try again.", code="stale")
    return os.fdopen(descriptor, "rb", buffering=0), found


def _refuse_special(path: Path, found: os.stat_result) -> None:
    kind = SPECIAL.get(stat.S_IFMT(found.st_mode))
    if kind:
        raise ToolError(f"{shown(path)} is {kind}. Only regular files and folders can be read.", code="unsupported")


def explained(path: Path, cwd: Path, error: OSError) -> ToolError:
    """Why a path leads nowhere, and what to do about it."""
    name = shown(path)
    if error.errno == errno.ENOENT:
        return ToolError(_missing(path, cwd), code="not_found")
    if error.errno == errno.ELOOP:
        return ToolError(f"{name} is a link that leads back to itself.", code="invalid_input")
    if error.errno == errno.ENAMETOOLONG:
        return ToolError(f"A part of the path {name[:80]}… is longer than 255 bytes; no file has such a name.")
    if error.errno == errno.ENOTDIR:
        return ToolError(f"A part of the path {name} is a file, not a folder. Check the path.", code="not_found")
    if error.errno in (errno.EACCES, errno.EPERM):
        reason = f"{name} cannot be read: the operating system gives no permission."
        return ToolError(f"{reason} Go on without it, or ask the user.", code="permission_denied")
    remedy = "It may not be an ordinary file; use Bash if you need it."
    return ToolError(f"{name} cannot be read: {error.strerror or error}. {remedy}", code="unsupported")


def _missing(path: Path, cwd: Path) -> str:
    if path.is_symlink():
        target = shown(os.readlink(path))
        return f"{shown(path)} is a link to {target}, which does not exist."
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
