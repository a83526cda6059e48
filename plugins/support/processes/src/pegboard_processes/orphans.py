"""End what was left running by a host that was killed before it could clean up.

Every process carries a mark that says which host started it. The record of a dead host in our own state directory names
the host, and what carries its mark is ended: its session is over, and nothing else would end it. Doubt spares the
process: another user's, one whose mark cannot be read, one of a host with another state directory, one that was
started in another space of process ids, one with a host around it that still lives, one on a terminal, where a person
may be by now, and all that we ourselves run in.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from pegboard_hosts import host_id
from pegboard_processes.reaper import GRACE, MARKER, PATIENCE, Stat, all_processes, environ_of, send, stat_of

if TYPE_CHECKING:
    from pegboard_hosts import DeadHost

UNKNOWN = "?"
FIELDS = 5
"""Space of process ids, process id, when it began, host, process."""
log = logging.getLogger("pegboard")


def mark(token: str) -> str:
    """What a process that we start carries: who we are, and its own token, behind the marks of hosts around us."""
    outer = os.environ.get(MARKER, "")
    own = f"{_identity()}-{host_id()}-{token}"
    # Marks of dead hosts only, as in a shell that survived one: with them we would be taken for an orphan.
    return f"{outer}:{own}" if outer and any(map(_may_live, outer.split(":"))) else own


def remove(host: DeadHost, names: list[str]) -> None:
    """End the processes that a dead host left."""
    end_orphans(host.id)


def end_orphans(host: str, grace: float = GRACE) -> list[int]:
    """End every process that a dead host left; returns their ids."""
    found = orphans(host)
    if not found:
        return []
    log.warning("ending %s, left behind by a session that was killed", _counted(found))
    # SIGCONT after SIGTERM: a stopped process would not see the request to end.
    _signal(found, signal.SIGTERM, signal.SIGCONT)
    _wait(found, grace)
    _signal(found, signal.SIGKILL)
    _wait(found, PATIENCE)
    return sorted({*found, *_end_late(host)})


def _end_late(host: str) -> set[int]:
    """End what the processes that we ended started while we looked: a list of processes is never taken at once."""
    ended = set[int]()
    deadline = time.monotonic() + PATIENCE
    while (late := orphans(host)) and time.monotonic() < deadline:
        _signal(late, signal.SIGKILL)
        _wait(late, deadline - time.monotonic())
        ended |= set(late)
    return ended


def orphans(host: str) -> dict[int, Stat]:
    """Our own user's living processes that this host started and of which every host is dead."""
    found: dict[int, Stat] = {}
    if _identity() == UNKNOWN or not host:
        return found
    # Never ourselves or what we run in, whatever marks we inherited: ending a parent would end us.
    ours = _around_us()
    for pid in all_processes():
        with suppress(OSError):
            if pid in ours or os.stat(f"/proc/{pid}").st_uid != os.geteuid():
                continue
            marks = _marks(environ_of(pid))
            stat = stat_of(pid)
            # With a terminal, a person may be using it.
            if not stat or not stat.alive or stat.has_terminal:
                continue
            if any(_host_of(mark) == host for mark in marks) and not any(_may_live(mark) for mark in marks):
                found[pid] = stat
    return found


def _counted(found: dict[int, Stat]) -> str:
    ids = ", ".join(map(str, sorted(found)))
    return f"process {ids}" if len(found) == 1 else f"processes {ids}"


def _around_us() -> set[int]:
    """Ourselves, and all that we run in."""
    found, pid = set[int](), os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        stat = stat_of(pid)
        pid = stat.parent if stat else 0
    return found


def _signal(found: dict[int, Stat], *numbers: int) -> None:
    for pid, stat in found.items():
        with suppress(ProcessLookupError, PermissionError):
            send(pid, stat, numbers)


def _wait(found: dict[int, Stat], seconds: float) -> None:
    """Wait until they are gone: nothing tells of the end of a process that is not our child."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(_is_same(pid, stat) for pid, stat in found.items()):
        time.sleep(0.02)


def _is_same(pid: int, stat: Stat) -> bool:
    now = stat_of(pid)
    # Process ids are used again; only the id together with the start time names one process.
    return now is not None and now.alive and now.began == stat.began


@lru_cache(maxsize=1)
def _space() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _identity() -> str:
    try:
        return _identity_of(os.getpid())
    except OSError:
        return UNKNOWN


@lru_cache(maxsize=1)  # Every command needs it, and only a fork has another one.
def _identity_of(pid: int) -> str:
    stat = stat_of(pid)
    # In a space of process ids of our own, with the /proc of another, this is a stranger.
    if stat is None or os.readlink("/proc/self") != str(pid):
        raise ProcessLookupError(pid)  # Unlike a returned value, it is not kept: the next look may succeed.
    return f"{_space()}-{pid}-{stat.began}"


def _marks(environ: bytes) -> list[str]:
    start = f"{MARKER}=".encode()
    for item in environ.split(b"\0"):
        if item.startswith(start):
            return item[len(start) :].decode("ascii", "replace").split(":")
    return []


def _host_of(mark: str) -> str:
    fields = mark.split("-")
    return fields[3] if len(fields) == FIELDS else ""


def _may_live(mark: str) -> bool:
    """Whether the host behind a mark may still be there."""
    try:
        space, pid, began, _, _ = mark.split("-")
        if int(space) != _space():
            return True
        os.kill(int(pid), 0)
        host = stat_of(int(pid))  # None where other users' processes are hidden: then it may well live
        return host is None or (host.alive and host.began == int(began))
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, OSError):
        return True
