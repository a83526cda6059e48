"""Zip files that have the same bytes whenever they have the same contents."""

from __future__ import annotations

import base64
import hashlib
import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from pegboard_authors.exit_codes import UsageError

EARLIEST = 315_532_800
LATEST = 4_354_819_199
"""From 1 January 1980 to 31 December 2107: no zip file can hold another date."""


def epoch() -> int:
    """The date of everything that is written: SOURCE_DATE_EPOCH, or the earliest there is."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or str(EARLIEST)
    if not given.isdecimal() or int(given) > LATEST:
        raise UsageError(
            f"SOURCE_DATE_EPOCH must be a number of seconds since 1970, before the year 2108, but it is {given!r}."
        )
    return max(EARLIEST, int(given))


def write_wheel(
    path: Path, info: str, files: Mapping[str, tuple[bytes, bool]], compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    """Write a wheel from its files (content, executable?), without the RECORD, which is made here."""
    rows = [f"{name},{digest(data)},{len(data)}" for name, (data, _) in sorted(files.items())]
    record = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, (data, executable) in sorted(files.items()):
            _add(archive, name, data, executable)
        _add(archive, f"{info}/RECORD", record, False)
    return path


def digest(data: bytes) -> str:
    """The hash of a file as RECORD spells it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _add(archive: zipfile.ZipFile, name: str, data: bytes, executable: bool) -> None:
    entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
    entry.compress_type = archive.compression
    entry.create_system = 3
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(entry, data)
