"""Homes in which the installed plugins are known: in an empty one each of them is imported to be described.

That takes a second for a program and a fifth of one for a board. A test wants a home of its own, for settings, rules
and transcripts, but what is installed is the same for all of them. So the index is copied, and nothing else is.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pegboard.settings import cache_dir


@functools.cache
def _store() -> Path:
    folder = tempfile.mkdtemp(prefix="pegboard-homes-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _indexes(home: Path) -> Path:
    return Path(str(cache_dir({"HOME": str(home)})))


def _copy(source: Path, target: Path) -> None:
    for file in _indexes(source).glob("index-*"):
        copy = _indexes(target) / file.name
        if not copy.exists():
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(file, copy)


@contextmanager
def known_plugins(home: Path) -> Generator[None, None, None]:
    """Inside, a board that is loaded in this home knows the installed plugins if an earlier one of this run did."""
    _copy(_store(), home)
    yield
    _copy(home, _store())


def warm(home: Path) -> Path:
    """Let a `pegboard` that starts in this home know the installed plugins, as it does from its second start on."""
    _know_programs()
    _copy(_store(), home)
    return home


@functools.cache
def _know_programs() -> None:
    env = {"HOME": str(_store()), "PATH": "/usr/bin:/bin"}
    for program in ([sys.executable, "-m", "pegboard_cli"], [str(Path(sys.executable).parent / "pegboard")]):
        subprocess.run([*program, "tools"], cwd=_store(), env=env, check=True, capture_output=True)
