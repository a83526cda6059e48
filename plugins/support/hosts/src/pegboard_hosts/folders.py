"""Temporary folders that a dead host left."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard_hosts.cleanup import DeadHost

PREFIX = "pegboard-"


def remove(host: DeadHost, names: list[str]) -> None:
    """Remove temporary folders: only real ones of this user, with our kind of name."""
    for path in names:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if is_ours and os.path.isabs(path) and os.path.basename(path).startswith(PREFIX):
            shutil.rmtree(path, ignore_errors=True)
