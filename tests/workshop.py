"""A wheelhouse with everything an author needs, made from what is installed here, and environments filled from it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard_authors.bundle_contents import closure
from pegboard_authors.wheels import wheel_of

from .venvs import run, uv

NEEDED = ("pegboard-cli", "pegboard-read", "pegboard-write", "pegboard-authors", "hatchling", "editables")


class Workshop:
    """Wheels in a folder; nothing is ever fetched."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.wheels, self.cache = folder, folder / "wheels", folder / "uv-cache"

    def fill(self) -> None:
        """Put together every wheel."""
        self.wheels.mkdir(parents=True)
        for dist in closure(NEEDED):
            wheel_of(dist, self.wheels)

    def venv(self, folder: Path, *what: object) -> Path:
        """A fresh virtual environment with some of it; returns its folder of programs."""
        uv("venv", "-p", sys.executable, folder, cache=self.cache)
        if what:
            self.install(folder, *what)
        return folder / "bin"

    def install(self, folder: Path, *what: object) -> None:
        """Install from the wheelhouse, or by path, with all requirements."""
        places = ["--no-index", "--find-links", self.wheels]
        uv("pip", "install", "-p", folder / "bin/python", *places, *what, cache=self.cache)

    def uninstall(self, folder: Path, name: str) -> None:
        """Take a distribution out again."""
        uv("pip", "uninstall", "-p", folder / "bin/python", name, cache=self.cache)


def variables(programs: Path, home: Path, **more: str) -> dict[str, str]:
    """A small, known environment."""
    home.mkdir(parents=True, exist_ok=True)
    return {"PATH": f"{programs}{os.pathsep}/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", **more}


def said(programs: Path, folder: Path, *words: object, **more: str) -> str:
    """What a program of an environment prints; it must end well."""
    env = variables(programs, folder / "home", **more)
    return run(programs / str(words[0]), *words[1:], env=env, cwd=folder).stdout


def started(
    programs: Path, folder: Path, *words: object, stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of an environment, whatever comes of it."""
    command = [str(programs / str(words[0])), *map(str, words[1:])]
    env = variables(programs, folder / "home", **more)
    return subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Workshop:
    """The wheelhouse; several test workers share it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "workshop"
    made = Workshop(folder)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            made.fill()
            (folder / "done").touch()
    return made
