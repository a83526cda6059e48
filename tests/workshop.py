"""A wheelhouse with everything an author needs, made from what is installed here, and environments filled from it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pegboard_authors.bundle_contents import closure
from pegboard_authors.wheels import wheel_of

from .conftest import Share
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
            wheel_of(dist, self.wheels, zipfile.ZIP_STORED)

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
def workshop(share: Share) -> Workshop:
    """The wheelhouse; several test workers share it."""
    return Workshop(share("workshop", lambda folder: Workshop(folder).fill()))
