"""From wheels to what is shipped: a folder for offline installs, or one file that runs."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pegboard_authors.archives import epoch
from pegboard_authors.exit_codes import UsageError

ENTRY = "pegboard_cli.main:main"


def write_requirements(wheels: Sequence[Path], folder: Path) -> None:
    """Pin every wheel by its hash: `pip install --no-index --find-links FOLDER -r FOLDER/requirements.txt`."""
    lines = []
    for wheel in sorted(wheels, key=lambda wheel: wheel.name):
        name, version = wheel.name.split("-")[:2]
        lines.append(
            f"{name.replace('_', '-')}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
        )
    (folder / "requirements.txt").write_text("\n".join(lines) + "\n")


def unpack(wheels: Sequence[Path], site: Path) -> None:
    """Install wheels into one folder as an installer would, with nothing in it that depends on when or where."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            renamed = {entry.filename: _target(entry.filename) for entry in archive.infolist() if not entry.is_dir()}
            for entry in archive.infolist():
                if not entry.is_dir():
                    _write(site / renamed[entry.filename], archive.read(entry), bool(entry.external_attr >> 16 & 0o100))
            record = next(name for name in renamed if name.endswith(".dist-info/RECORD"))
            rows = archive.read(record).decode().splitlines()
        rows = [_renamed_row(row, renamed) for row in rows]
        (site / record).write_text("\n".join(rows) + "\n")


def _target(name: str) -> str:
    """Where a file of a wheel goes."""
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return name
    kind, _, inner = rest.partition("/")
    return f"bin/{inner}" if kind == "scripts" else inner


def _renamed_row(row: str, renamed: dict[str, str]) -> str:
    name, _, rest = row.partition(",")
    return f"{renamed.get(name, name)},{rest}"


def _write(path: Path, data: bytes, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.name == "bin" and data.startswith(b"#!python"):
        data = b"#!/usr/bin/env python3" + data.removeprefix(b"#!python")
    path.write_bytes(data)
    path.chmod(0o755 if executable or path.parent.name == "bin" else 0o644)


def require_shiv() -> None:
    """Refuse to go on without the program that writes one file."""
    if find_spec("shiv") is None:
        raise UsageError("shiv, which writes the file, is not installed. Install it with pip install shiv.")


def write_shiv(site: Path, output: Path) -> None:
    """One file that unpacks itself on first use. It runs isolated: PYTHONPATH and the user's site do not reach it."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = [sys.executable, "-W", "ignore", "-m", "shiv", "--site-packages", str(site), "--entry-point", ENTRY]
    command += ["--reproducible", "--python", f"/usr/bin/env -S python{version} -I", "--output-file", str(output)]
    done = subprocess.run(
        command, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UsageError(f"shiv could not write {output}: {(done.stderr or done.stdout).strip()}")
