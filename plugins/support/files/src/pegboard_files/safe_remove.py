"""Remove or move a file that is still what was read, through one descriptor of its folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pegboard import ToolError
from pegboard_files.safe_open import folder_of, real_path
from pegboard_files.safe_write import OriginalFile, changed, failure, look

NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What a file system without hard links says."""


def real_file(path: Path, approved_paths: Mapping[str, bool] | None) -> Path:
    """The real path of a file that is about to go. A link is refused: what it points to is not what was named."""
    if path.is_symlink():
        raise ToolError(f"{path} is a symbolic link, which cannot be removed or moved here.", code="unsupported")
    return Path(real_path(path, approved_paths, change=True))


def look_again(folder: int, target: Path, expected_digest: str) -> OriginalFile:
    """The file as it is, if it is still what was read."""
    before = look(folder, target)
    if before.stat is None:
        raise ToolError(f"{target} no longer exists.", code="stale")
    if before.digest != expected_digest:
        raise changed(target)
    return before


def unlink(folder: int, target: Path) -> None:
    """Remove a name."""
    try:
        os.unlink(target.name, dir_fd=folder)
    except OSError as error:
        raise failure(target, error) from None
    with suppress(OSError):
        os.fsync(folder)


def rename(folder: int, target: Path, to: Path) -> os.stat_result:
    """Give a file another name that is free; its mode, owner and attributes stay."""
    try:
        with folder_of(str(to)) as (there, name):
            _move(folder, target.name, there, name)
            with suppress(OSError):
                os.fsync(there)
            return os.stat(name, dir_fd=there, follow_symlinks=False)
    except FileExistsError:
        raise ToolError(f"{to} already exists, so {target} was not moved there.", code="stale") from None
    except OSError as error:
        if error.errno == errno.EXDEV:
            reason = f"{to} is on a different file system from {target}, so it cannot be moved there."
            raise ToolError(f"{reason} Add the new file and delete the old one.", code="unsupported") from None
        raise failure(target, error) from None


def _move(folder: int, name: str, there: int, new: str) -> None:
    """Rename without replacing: a second name first, because a plain rename would overwrite what appeared just now."""
    try:
        os.link(name, new, src_dir_fd=folder, dst_dir_fd=there, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if _exists(there, new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=there)
        return
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(new, dir_fd=there)
        raise


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
