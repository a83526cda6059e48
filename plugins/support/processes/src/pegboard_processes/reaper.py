"""Find and end everything that a process started, also what left its group.

Two ways to find a descendant that called `setsid` and lost its parent were weighed. PR_SET_CHILD_SUBREAPER would hand
every orphan to the host, but it is a property of the whole host process: an application that embeds Pegboard would
inherit, and have to reap, orphans of processes that are none of our business. So each process is started with a marker
in its environment, which children inherit, and /proc is searched for it. A descendant escapes only when it leaves the
session, loses its parent *and* drops its environment; holding that one is the business of a sandbox.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import time
from contextlib import suppress
from typing import NamedTuple

import anyio

MARKER = "PEGBOARD_PROCESS"
GRACE = 2.0
"""Seconds between asking a tree to end and ending it; with what follows, a call is over 3 s after its limit."""
PATIENCE = 2.0
"""Seconds that a killed tree may take to disappear; only a process stuck in the kernel needs longer."""
FEW = 64
BECOMING = 0.1
"""Seconds that a process may take to turn into another program: its file can come from a slow disk."""

log = logging.getLogger("pegboard")


class Stat(NamedTuple):
    """What /proc says about a process. `began` counts ticks since the machine started."""

    alive: bool
    parent: int
    group: int
    session: int
    began: int
    has_terminal: bool


class ProcessTree:
    """A process we started, with all its descendants.

    The process must not be reaped before its tree is gone: as long as it is at least a zombie, the kernel gives its
    id to no other process, group or session, so no signal can hit a stranger.
    """

    def __init__(self, pid: int, token: str, latest: int = 0) -> None:
        """`latest` is the last id that was handed out before the process could start anything, if that is later."""
        self.pid, self._token = pid, token.encode()
        self._first = max(pid, latest)
        stat = stat_of(pid)
        self._began = stat.began if stat else 0
        self._known: dict[int, int] = {}

    def members(self, *, young: bool = False) -> dict[int, Stat]:
        """All that are alive. `young` says that the process began moments ago, which is cheaper to search."""
        found: dict[int, Stat] = {}
        others: dict[int, Stat] = {}
        for pid in (self.pid, *_since(self._first)) if young else all_processes():
            stat = stat_of(pid)
            # Something older than the process cannot be its child, whatever its id or environment says.
            if stat and stat.alive and stat.began >= self._began and pid != os.getpid():
                (found if self._owns(pid, stat) else others)[pid] = stat
        # Until nothing is added: a child may come before its parent in the listing.
        while adopted := {pid: stat for pid, stat in others.items() if stat.parent in found}:
            found |= adopted
            others = {pid: stat for pid, stat in others.items() if pid not in adopted}
        # Once its parent is gone, nothing but this memory tells who was known by the parent alone.
        self._known |= {pid: stat.began for pid, stat in found.items()}
        return found

    def _owns(self, pid: int, stat: Stat) -> bool:
        return (
            self.pid in (stat.group, stat.session)
            or self._known.get(pid) == stat.began
            or self._token in environ_of(pid)
        )

    def signal(self, *numbers: int) -> None:
        """Send signals to the whole tree, to each process once: many programs take a second request for impatience."""
        members = self.members()  # before the first one dies: children of the dead are harder to find
        with suppress(ProcessLookupError, PermissionError):
            for number in numbers:
                os.killpg(self.pid, number)
        for pid, stat in members.items():
            if stat.group != self.pid:
                with suppress(ProcessLookupError, PermissionError):
                    send(pid, stat, numbers)

    async def end(self, grace: float = GRACE) -> list[int]:
        """Ask the tree to end, wait, then make it end. Returns the ids of what could not be ended: usually none."""
        self.signal(signal.SIGTERM, signal.SIGCONT)  # a stopped process gets no signal until it is continued
        await self.gone(grace)
        deadline = time.monotonic() + PATIENCE
        while True:
            # Also when nothing seems left: without /proc the group is all we know of.
            self.signal(signal.SIGKILL)
            if await self.gone(0.05):
                return []
            if time.monotonic() > deadline:
                left = sorted(self.members())
                log.warning("could not end the processes %s, descendants of %d", left, self.pid)
                return left

    async def gone(self, seconds: float) -> bool:
        """Wait until no process is alive, but not longer than this."""
        deadline, pause = time.monotonic() + seconds, 0.002
        while self.members():
            if time.monotonic() >= deadline:
                return False
            await anyio.sleep(min(pause, max(deadline - time.monotonic(), 0)))
            pause = min(pause * 1.6, 0.05)
        return True


def send(pid: int, stat: Stat, numbers: tuple[int, ...]) -> None:
    """Signal one process, through a handle that cannot come to mean another one."""
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EPERM):  # an old kernel, or a filter that does not know pidfd
            for number in numbers:
                os.kill(pid, number)
        return
    try:
        now = stat_of(pid)
        for number in numbers:
            # The handle is open, so the id cannot change hands any more; before that it could have.
            if now and now.began == stat.began:
                signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def all_processes() -> list[int]:
    """The ids of all processes that can be seen from here."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _since(pid: int) -> list[int]:
    """The ids handed out since `pid`, and `pid` itself.

    Ids are handed out in turn and /proc/loadavg names the latest, so a process that lived for a moment can be checked
    for survivors without reading all of /proc: 20 µs instead of milliseconds, paid by every single run.
    """
    latest = latest_process()
    if latest < pid:  # the numbers began again from the start, or this kernel does not tell
        return all_processes()
    if latest - pid < FEW:
        return list(range(pid, latest + 1))
    return [other for other in all_processes() if pid <= other <= latest]


def latest_process() -> int:
    """The id that was handed out last; 0 where the kernel does not tell."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def stat_of(pid: int) -> Stat | None:
    """What /proc says about a process; None when it is gone."""
    fields = _fields(pid)
    if len(fields) < 20:
        return None
    parent, group, session, terminal, began = (int(fields[at]) for at in (1, 2, 3, 4, 19))
    return Stat(fields[0] not in (b"Z", b"X"), parent, group, session, began, terminal != 0)


def _fields(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            # The name is in parentheses and may itself contain parentheses and spaces.
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def environ_of(pid: int) -> bytes:
    """The environment of a process, or nothing.

    While a process turns into another program, its environment seems empty, usually for some microseconds. Looking
    away then would lose a descendant that has just left our session. Only an orphan is worth the wait: all others are
    found through their parents.
    """
    deadline, is_settled = time.monotonic() + BECOMING, False
    while True:
        try:
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
                data = file.readall()
        except OSError:  # another user's process; if it is ours, its session tells
            return b""
        if data or is_settled or time.monotonic() > deadline:
            return data
        if _is_becoming(pid):
            if not _is_orphan(pid):
                return data
            time.sleep(0.000_2)
        else:
            is_settled = True  # perhaps only since the environment was read, so it is read once more


def _is_orphan(pid: int) -> bool:
    """Whether a process could be an orphan of ours: these go to one of our own ancestors, or to the first process."""
    stat, adopter = stat_of(pid), os.getpid()
    if stat is None:
        return False
    while adopter > 1 and adopter != stat.parent:
        above = stat_of(adopter)
        adopter = above.parent if above else 0
    return stat.parent in (0, 1, adopter)


def _is_becoming(pid: int) -> bool:
    """Whether a process has memory, so is no thread of the kernel, but no place for an environment in it yet."""
    fields = _fields(pid)
    return len(fields) > 48 and fields[0] not in (b"Z", b"X") and fields[20] != b"0" and fields[48] == b"0"
