"""Confinements: which one there is, and a place for one command in it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from queue import Empty, SimpleQueue

from pegboard_confine import bubblewrap, landlock, seccomp, visible_paths
from pegboard_confine.grants import Access, Grants
from pegboard_confine.limits import Launch, ResourceLimits, Started, limited
from pegboard_confine.spare import HelperError, SpareCommand
from pegboard_confine.spares import HELPER
from pegboard_confine.survey import CannotHideError
from pegboard_hosts import note

LANDLOCK, BUBBLEWRAP, NONE = "landlock", "bubblewrap", "none"
CHOICES = ("auto", LANDLOCK, BUBBLEWRAP, "off")
NAMES = {LANDLOCK: "Landlock", BUBBLEWRAP: "bubblewrap"}
MOST_KNOWN = 16
"""For how many sorts of commands it is remembered what they may read."""
MOST_READY = 2
"""For how many of these, the latest, a place is kept ready: each holds a descriptor and a folder."""
PAUSE = 0.02
"""Seconds after a command before the next place is prepared: what uses its result comes first."""


@dataclass(frozen=True, slots=True)
class Available:
    """Which confinement there is: `landlock`, `bubblewrap` or `none`, and why it is not a better one."""

    kind: str
    why: str = ""

    @property
    def name(self) -> str:
        """How it is called in a sentence."""
        return NAMES.get(self.kind, "")

    def __bool__(self) -> bool:
        return self.kind != NONE


BROKEN_FOR = 60.0
"""Seconds until a helper that failed is tried again: it may have been killed, or the machine was busy."""

_broken: list[tuple[str, float]] = []


def available(choice: str = "auto") -> Available:
    """Which confinement this machine offers, of the one that is chosen."""
    if choice == "off":
        return Available(NONE, "it is switched off")
    problems = []
    if choice != BUBBLEWRAP:
        problem = _landlock_trouble()
        if not problem:
            return Available(LANDLOCK)
        problems.append(problem)
    if choice != LANDLOCK:
        problem = bubblewrap.trouble() if sys.platform == "linux" else "bubblewrap needs Linux"
        if not problem:
            return Available(BUBBLEWRAP, " and ".join(problems))
        problems.append(problem)
    return Available(NONE, " and ".join(problems))


def _landlock_trouble() -> str:
    for problem, until in _broken:
        if time.monotonic() < until:
            return problem
    version = landlock.version()
    if not version:
        return "this kernel has no Landlock"
    if version < landlock.FIRST_USABLE:
        return f"Landlock version {version} is too old ({landlock.FIRST_USABLE} is needed)"
    return "" if seccomp.is_known_machine() else f"there is no system-call filter for {os.uname().machine}"


@cache
def _base(pid: int) -> str:
    """The folder of this host, above the private folders of its commands. After a kill the next host removes it."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="pegboard-confined-"))
    kept = note("folder", folder)

    def remove() -> None:
        if os.getpid() == pid:  # A fork that ends must not take the folder away from its parent.
            shutil.rmtree(folder, ignore_errors=True)
            kept.done()

    atexit.register(remove)
    return folder


def _private_folder() -> str:
    try:
        return tempfile.mkdtemp(dir=_base(os.getpid()))
    except FileNotFoundError:  # Something tidied the temporary folder up under a host that has run for days.
        _base.cache_clear()
        return tempfile.mkdtemp(dir=_base(os.getpid()))


class Confinement:
    """Where one command runs: a private folder, and what it may read. Used once."""

    def __init__(self, grants: Grants, kind: str, owner: _Kept | None) -> None:
        self.kind, self._owner, self._ended = kind, owner, False
        self.folder = _private_folder()
        """Writable, empty, and gone after `end()`."""
        self._granted, self._hidden = grants.bound, grants.hidden
        try:
            self._ruleset = grants.ruleset(self.folder) if kind == LANDLOCK else -1
        except BaseException:
            _remove(self.folder)
            raise

    def start(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        standard: tuple[int, int, int],
        enter: Callable[[int], None] | None = None,
        limits: ResourceLimits | None = None,
    ) -> Started:
        """Start a command here; an `OSError` when it cannot be started.

        `enter` is called with its id before it does anything.
        """
        env = {**env, **visible_paths.environment(self.folder)}
        numbers = limits.as_numbers() if limits else []
        if self.kind == BUBBLEWRAP:
            return self._by_bubblewrap(Launch(argv, cwd, env, standard, enter), numbers)
        program = _which(argv[0], env.get("PATH", os.defpath))
        if program is None:
            raise FileNotFoundError(2, "there is no such program", argv[0])
        job = SpareCommand(program, argv, cwd, env, standard, self._ruleset, numbers)
        try:
            return HELPER.start(job, enter)
        except HelperError as error:
            _broken[:] = [(str(error), time.monotonic() + BROKEN_FOR)]
            raise

    def _by_bubblewrap(self, launch: Launch, limits: list[tuple[int, int]]) -> Started:
        program = bubblewrap.find()
        if program is None:
            raise FileNotFoundError(2, "bubblewrap is not installed")
        filtered = os.memfd_create("filter")
        try:
            os.write(filtered, seccomp.program(signals_are_scoped=True))  # it has a space of process ids of its own
            os.lseek(filtered, 0, os.SEEK_SET)
            real = os.path.realpath(launch.cwd)
            words = bubblewrap.command(program, self._granted, self._hidden, self.folder, real, filtered)
            return limited(replace(launch, argv=(*words, *launch.argv), cwd="/"), limits, (filtered,))
        finally:
            os.close(filtered)

    def end(self) -> None:
        """The command is over: nothing is left of its place."""
        if self._ended:
            return
        self._ended = True
        if self._ruleset >= 0:
            os.close(self._ruleset)
            self._ruleset = -1
        _remove(self.folder)
        if self._owner:
            self._owner.prepare_soon()


class _Kept:
    """The grants for one `Access`, and a place that is ready before it is needed."""

    def __init__(self, wanted: Access, kind: str) -> None:
        self._grants, self._kind = Grants(wanted), kind
        self._ready: Confinement | None = None
        self._retired = False
        self._lock = threading.Lock()

    def place(self) -> Confinement:
        with self._lock:
            if not self._grants.is_current():
                self._drop()
                self._grants.make()
            ready, self._ready = self._ready, None
            return ready or Confinement(self._grants, self._kind, self)

    def check(self) -> None:
        """Search the working directories, where that takes a search: it may turn out to be too much."""
        with self._lock:
            if self._grants.wanted.may_read is not None and not self._grants.is_current():
                self._drop()
                self._grants.make()

    def prepare_soon(self) -> None:
        """Make the next place, in another thread."""
        if self._kind == LANDLOCK and not self._retired:
            _PREPARING.put(self)

    def prepare(self) -> None:
        with self._lock:
            if self._ready is None and not self._retired:
                with suppress(Exception):  # whoever asks next is told
                    if not self._grants.is_current():
                        self._grants.make()
                    self._ready = Confinement(self._grants, self._kind, self)

    def drop(self) -> None:
        """Give back the place that is ready."""
        with self._lock:
            self._drop()

    def retire(self) -> None:
        """Give it back, and make no other."""
        with self._lock:
            self._retired = True
            self._drop()

    def _drop(self) -> None:
        if self._ready:
            self._ready._owner = None
            self._ready.end()
            self._ready = None


class _Preparing:
    """A thread that prepares places, a moment after it was asked to."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[_Kept] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def put(self, kept: _Kept) -> None:
        self._asked.put(kept)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="pegboard-confine", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            asked = {self._asked.get()}
            time.sleep(PAUSE)
            with suppress(Empty):
                while True:
                    asked.add(self._asked.get_nowait())
            HELPER.top_up()
            with _LOCK:
                known = list(_KEPT.values())
            for kept in known[:-MOST_READY]:
                kept.drop()
            for kept in asked.intersection(known[-MOST_READY:]):
                kept.prepare()


_PREPARING = _Preparing()
_KEPT: dict[tuple[Access, str], _Kept] = {}
"""The one that was used last comes last."""
_LOCK = threading.Lock()


def _forget() -> None:
    """In a fork of the host: places and threads are the parent's."""
    global _LOCK
    _LOCK = threading.Lock()
    _KEPT.clear()
    _PREPARING.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_forget)


def confinement_for(wanted: Access, kind: str) -> Confinement:
    """A place for one command; `CannotHideError` when what it must not see cannot be kept from it."""
    return _kept(wanted, kind).place()


def why_not(wanted: Access, kind: str) -> str:
    """Why there can be no such place, or nothing."""
    try:
        _kept(wanted, kind).check()
    except CannotHideError as problem:
        return str(problem)
    return ""


def _kept(wanted: Access, kind: str) -> _Kept:
    key = (wanted, kind)
    with _LOCK:
        found = _KEPT.pop(key, None)
        if found is None:
            while len(_KEPT) >= MOST_KNOWN:
                _KEPT.pop(next(iter(_KEPT))).retire()
            found = _Kept(wanted, kind)
        _KEPT[key] = found
        return found


def tidy() -> None:
    """Give back what is prepared."""
    with _LOCK:
        while _KEPT:
            _KEPT.popitem()[1].retire()


@lru_cache(maxsize=16)
def _found(program: str, path: str) -> str | None:
    return shutil.which(program, path=path)


def _which(program: str, path: str) -> str | None:
    """Where a program is; looked for again only when it is no longer there."""
    known = _found(program, path)
    if known is None or not os.access(known, os.X_OK):
        _found.cache_clear()
        known = _found(program, path)
    return known


def _remove(folder: str) -> None:
    """Remove a private folder. One that was used may hold any number of files, which takes a thread of its own."""
    try:
        os.rmdir(folder)
    except OSError:
        try:
            threading.Thread(target=shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}).start()
        except RuntimeError:  # the interpreter is ending, or there can be no more threads
            shutil.rmtree(folder, ignore_errors=True)
