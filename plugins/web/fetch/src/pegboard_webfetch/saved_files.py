"""Save what cannot be shown as files in the user's state folder, readable only by the user."""

from __future__ import annotations

import mimetypes
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pegboard.settings import state_dir
from pegboard_webfetch.urls import Url

KEEP_DAYS = 30


def saved(body: bytes, url: Url, media_type: str, env: Mapping[str, str]) -> Path:
    """Write a body to a new file that is named after its URL; raises OSError where that cannot be done."""
    folder = _folder(env)
    path = folder / f"{secrets.token_hex(4)}-{_file_name(url, media_type)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(body)
    return path


def _folder(env: Mapping[str, str]) -> Path:
    state = state_dir(env)
    if state is None:
        return Path(tempfile.mkdtemp(prefix="pegboard-webfetch-"))
    folder = Path(state, "webfetch")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    # Another user may have put a link or a folder here to read the files.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return Path(tempfile.mkdtemp(prefix="pegboard-webfetch-"))
    folder.chmod(0o700)
    _remove_old(folder)
    return folder


def _remove_old(folder: Path) -> None:
    limit = time.time() - KEEP_DAYS * 86_400
    for entry in os.scandir(folder):
        with suppress(OSError):
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < limit:
                Path(entry).unlink()


def _file_name(url: Url, media_type: str) -> str:
    """A plain name: what came from the web must not become a path, an option or a hidden file."""
    last = re.sub(r"[^A-Za-z0-9._-]+", "-", url.target.partition("?")[0].rpartition("/")[2])[-60:].strip(".-")
    ending = mimetypes.guess_extension(media_type) or ".bin"
    return last if "." in last else f"{last or 'download'}{ending}"
