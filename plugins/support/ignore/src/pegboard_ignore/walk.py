"""Walk a tree without entering what the scope skips and without following links."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from pegboard_ignore.chain import SPECIAL, Chain
from pegboard_ignore.scope import VCS, Scope


@dataclass(slots=True)
class Tally:
    """What a walk has met and skipped so far. A caller may set `stop` from another thread, and counts its matches."""

    folders: int = 0
    matches: int = 0
    ignored_files: int = 0
    ignored_folders: int = 0
    heavy: int = 0
    hidden: int = 0
    unreadable: int = 0
    timed_out: bool = False
    stop: bool = False


@dataclass(slots=True)
class Skipped:
    """What a search left out: files and folders that rules ignore, heavy folders, hidden entries, unreadable folders.

    Of files that permission rules withhold it says only whether there are such rules: a number would tell of names.
    """

    ignored: int = 0
    ignored_folders: int = 0
    heavy: int = 0
    hidden: int = 0
    unreadable: int = 0
    withheld: bool = False

    def count(self, tally: Tally) -> None:
        """Take over what a walk passed over."""
        self.ignored, self.ignored_folders = tally.ignored_files, tally.ignored_folders
        self.heavy, self.hidden = tally.heavy, tally.hidden


@cache
def default_seconds() -> int:
    """How long a search may take; under WSL, drives of the host are slow."""
    return 60 if "microsoft" in platform.release().lower() else 20


class WalkFolder:
    """A folder on the way: its path, its path from the root with a slash at the end, and the names of its files.

    Whatever is not a folder counts as a file here, links and pipes too: looking closer costs, and few names fit.
    """

    __slots__ = ("chain", "folders", "names", "path", "relative", "tally")

    def __init__(self, path: str, relative: str, names: list[str], chain: Chain, tally: Tally) -> None:
        self.path, self.relative, self.names, self.chain, self.tally = path, relative, names, chain, tally
        self.folders: list[str] = []
        """The subfolders that will be entered."""

    def kept(self, names: list[str]) -> list[str]:
        """The names that no rule ignores."""
        chain = self.chain
        if not chain.links or not names:
            return names
        prefix = f"{self.path}/" if self.path != "/" else "/"
        kept = [name for name in names if not chain.ignores(prefix + name, name, False)]
        self.tally.ignored_files += len(names) - len(kept)
        return kept


def walk(
    scope: Scope,
    tally: Tally | None = None,
    *,
    may_hold: Callable[[str], object] | None = None,
    deadline: float | None = None,
) -> Iterator[WalkFolder]:
    """Every folder that the scope enters, in no particular order.

    `may_hold` says of a relative path whether to enter it. At `deadline`, a value of `time.monotonic()`, the walk ends.
    """
    tally = tally or Tally()
    waiting = [(scope.root, "", scope.chain, os.path.basename(scope.root))]
    while waiting:
        if tally.stop or (deadline is not None and time.monotonic() > deadline):
            tally.timed_out = True
            return
        path, relative, chain, name = waiting.pop()
        listed = _listed(path)
        if listed is None:
            tally.unreadable += 1
            continue
        folders, names = listed
        tally.folders += 1
        if not scope.include_ignored and not (SPECIAL.isdisjoint(names) and SPECIAL.isdisjoint(folders)):
            chain = chain.entering(path, [*names, *(folder for folder in folders if folder in SPECIAL)])
        if not scope.hidden:
            names = _shown(names, tally)
        found = WalkFolder(path, relative, names, chain, tally)
        if folders:
            found.folders = _entered(scope, found, folders, name, may_hold)
            prefix = f"{path}/" if path != "/" else "/"
            waiting += [(prefix + folder, f"{relative}{folder}/", chain, folder) for folder in found.folders]
        yield found


def _listed(path: str) -> tuple[list[str], list[str]] | None:
    folders: list[str] = []
    names: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else names).append(entry.name)
    except (FileNotFoundError, NotADirectoryError):  # It was removed during the walk.
        return folders, names
    except OSError:
        return None
    return folders, names


def _shown(names: list[str], tally: Tally) -> list[str]:
    kept = [name for name in names if not name.startswith(".")]
    tally.hidden += len(names) - len(kept)
    return kept


def _entered(
    scope: Scope, folder: WalkFolder, folders: list[str], name: str, may_hold: Callable[[str], object] | None
) -> list[str]:
    kept, tally, chain = list[str](), folder.tally, folder.chain
    prefix = f"{folder.path}/" if folder.path != "/" else "/"
    for inner in folders:
        if scope.skips(name, inner):
            tally.heavy += inner not in VCS
        elif not scope.hidden and inner.startswith(".") and inner not in scope.named:
            tally.hidden += 1
        elif may_hold is not None and not may_hold(folder.relative + inner):
            continue
        elif chain.links and chain.ignores(prefix + inner, inner, True):
            tally.ignored_folders += 1
        else:
            kept.append(inner)
    return kept
