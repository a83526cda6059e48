"""What is installed, known without importing it: one file an environment, rebuilt when anything it rests on has moved.

The index is for listing. Nothing in it is executed and no permission is decided from it: a call imports its plugin and
asks the tool itself. Only plugins that are switched on are ever imported to fill it.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from binascii import crc32

import pegboard_settings

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard.records import Declared, IndexRecord, PluginRecord

    Stamp = tuple[str, int, int, int]

FORMAT = 9
HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SETTINGS_HOME = os.path.dirname(os.path.abspath(pegboard_settings.__file__))
DESCRIBERS = [
    *(os.path.join(HOME, name) for name in ("contract.py", "function_tool.py", "inputs.py", "schemas.py")),
    *(os.path.join(HOME, "plugins", name) for name in ("declarations.py", "discovery.py", "hook_checks.py")),
    *(os.path.join(HOME, name) for name in ("plugins/loader.py", "plugins/scan.py", "reserved.txt")),
    *(os.path.join(SETTINGS_HOME, name) for name in ("keys.py", "declarations.py")),
]
"""What decides how a plugin is described: in a checkout of the core these change without an installation."""

SETTLED = 2_000_000_000
"""A stamp younger than this (ns) may hide a second change in the same clock tick; such an index is not kept."""


class _Look:
    """One look at what is installed. Settings are read with it, and the next `load` goes on with the same."""

    __slots__ = ("began", "fresh", "known", "path", "unused")

    def __init__(self, known: IndexRecord, path: str | None, began: int, *, fresh: bool) -> None:
        self.known, self.path, self.began, self.fresh = known, path, began, fresh
        self.unused = [True]  # Taken by `pop`, which only one thread can do.

    def take(self, path: str | None, places: list[str]) -> bool:
        """Whether `load` may use it: once, for the same environment, and before anything can have been installed."""
        current = time.time_ns() - self.began < JUST_NOW
        if not current or self.path != path or self.known["places"] != places:
            return False
        try:
            return self.unused.pop()
        except IndexError:
            return False


JUST_NOW = 1_000_000_000
_last: _Look | None = None


def declared(env: Mapping[str, str] | None = None) -> Declared:
    """The settings and hooks that installed distributions declare."""
    global _last
    if _last is None or not _still_declares(_last.known):
        _last = _look(*_where(env))
        if _last.path and _last.fresh:
            keep(_last.path, _last.known, _last.began)
            _last.fresh = False
    return _last.known["declared"]


def _where(env: Mapping[str, str] | None) -> tuple[list[str], str | None]:
    places = roots()
    return places, None if has_foreign_finders() else file_for(places, os.environ if env is None else env)


def _still_declares(known: IndexRecord) -> bool:
    """Whether an index of this very process still tells the truth about settings, whatever else has moved."""
    places = roots()
    files = known["declared"]["files"]
    return (
        known["places"] == places
        and known["installed"] == [installed(place) for place in places]
        and all(stamp(was[0]) == was for was in known["stamps"] if was[0] in files)
    )


def _look(places: list[str], path: str | None) -> _Look:
    began = time.time_ns()
    known = read(path, places) if path else None
    if known is not None:
        return _Look(known, path, began, fresh=False)
    from pegboard.plugins.discovery import discover

    installed_now = [installed(place) for place in places]
    stamps = [stamp(place) for place in (*places, *DESCRIBERS)]
    found = discover(places)
    stamps += [stamp(file) for file in found["declared"]["files"]]
    made: IndexRecord = {"format": FORMAT, "places": places, "installed": installed_now, "stamps": stamps, **found}
    return _Look(made, path, began, fresh=True)


def load(wanted: Callable[[PluginRecord], bool], env: Mapping[str, str] | None = None) -> IndexRecord:
    """The plugins of this environment. Those that are wanted have been imported once, now or earlier, and described."""
    places, path = _where(env)
    looked = _last if _last and _last.take(path, places) else _look(places, path)
    known = looked.known
    missing = [plugin for plugin in known["plugins"] if plugin["scan"] is None and wanted(plugin)]
    if missing:
        from pegboard.hookspecs import CORE_HOOKS
        from pegboard.plugins.scan import scan

        for plugin in missing:
            scanned = plugin["scan"] = scan(plugin, CORE_HOOKS | known["declared"]["hooks"])
            known["stamps"] += [stamp(file) for file in scanned.pop("files", [])]
    if path and (looked.fresh or missing):
        keep(path, known, looked.began)
    return known


def roots() -> list[str]:
    """Where plugins may be installed. Never the working directory: a cloned repository must not be able to add one."""
    return [p for p in sys.path if not is_here(p) and not p.endswith(("lib-dynload", ".zip"))]


def is_here(place: str) -> bool:
    """Whether an entry of `sys.path` is the working directory, under whatever name."""
    try:
        return not place or os.path.samestat(os.stat(place), os.stat("."))
    except OSError:
        return False  # There is no such folder, or the working directory was deleted: nothing can be offered from it.


def file_for(places: list[str], env: Mapping[str, str]) -> str | None:
    """The file of this very environment, or None where there is no place to keep one."""
    folder = pegboard_settings.cache_dir(env)
    if not folder:
        return None
    key = crc32(repr((FORMAT, sys.version, sys.prefix, places)).encode())
    return os.path.join(folder, f"index-{sys.implementation.cache_tag}-{key:08x}")


def stamp(path: str) -> Stamp:
    """What changes when a file or folder does."""
    try:
        s = os.stat(path)
    except OSError:
        return path, 0, 0, 0
    return path, s.st_mtime_ns, s.st_ino, s.st_size


def installed(place: str) -> int:
    """A checksum of the distributions in a folder by name: images with levelled dates tell nothing by their mtime."""
    try:
        names = [name for name in os.listdir(place) if name.endswith(("-info", ".egg-link", ".pth"))]
    except OSError:
        return 0
    return crc32("\n".join(sorted(names)).encode("utf-8", "surrogateescape"))


def has_foreign_finders() -> bool:
    """A finder that invents distributions (zip bundles, in-memory installers) cannot be stamped."""
    return any(
        hasattr(finder, "find_distributions") and getattr(finder, "__name__", "") != "PathFinder"
        for finder in sys.meta_path
    )


def read(path: str, places: list[str]) -> IndexRecord | None:
    """The kept index, if it is ours, whole, and still true."""
    try:
        with open(path, "rb") as file:
            s = os.fstat(file.fileno())
            # Whoever can write this file chooses what we import; marshal is not safe for other people's data.
            if s.st_uid != os.geteuid() or s.st_mode & 0o022:
                return None
            head, body = file.read(4), file.read()
        if int.from_bytes(head, "little") != crc32(body):
            return None
        known: IndexRecord = marshal.loads(body)  # noqa: S302 - our own file, owner and checksum verified
        if known["format"] != FORMAT or known["places"] != places:
            return None
        if known["installed"] != [installed(place) for place in places]:
            return None
        return known if all(stamp(was[0]) == was for was in known["stamps"]) else None
    except (OSError, ValueError, EOFError, TypeError, KeyError):
        return None


def keep(path: str, known: IndexRecord, began: int) -> None:
    """Write the index for the next process; a reader sees the old file or the new one, never a part."""
    # A file changed this recently may change again within the resolution of its time stamp, and we would not notice.
    if any(began - mtime < SETTLED for _, mtime, _, _ in known["stamps"]):
        return
    body = marshal.dumps(dict(known))
    part = f"{path}.{os.getpid()}-{began}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(crc32(body).to_bytes(4, "little") + body)
        os.replace(part, path)
    except OSError:
        if os.path.exists(part):
            os.unlink(part)  # A full disk or a read-only home costs the scan again, nothing else.


def drop(env: Mapping[str, str] | None = None) -> None:
    """Forget the index of this environment: a plugin turned out to be other than it was described."""
    path = file_for(roots(), os.environ if env is None else env)
    if path:
        try:
            os.unlink(path)
        except OSError:
            pass
