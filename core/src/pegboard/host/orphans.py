"""End what was left running by a host that was killed before it could clean up.

Every process carries a mark that says who started it. When a session begins, whatever carries marks of dead hosts only
is ended: its session is over, and nobody else would do it. Doubt spares the process: another user's, one whose mark
cannot be read, one that was started in another space of process ids, one with a host around it that still lives, one
on a terminal, where a person may be by now, and all that we ourselves run in.
"""

from __future__ import annotations

import logging
import os
import signal
from contextlib import suppress
from functools import lru_cache

import anyio

from pegboard.host.reaper import GRACE, MARKER, Stat, all_processes, environ_of, send, stat_of

UNKNOWN = "?"
log = logging.getLogger("pegboard")


def mark(token: str) -> str:
    """What a process that we start carries: who we are, and its own token, behind the marks of hosts around us."""
    outer = os.environ.get(MARKER, "")
    own = f"{_identity()}-{token}"
    # Marks of dead hosts only, as in a shell that survived one: with them we would be taken for an orphan.
    return f"{outer}:{own}" if outer and any(map(_may_live, outer.split(":"))) else own


async def end_orphans(grace: float = GRACE) -> list[int]:
    """End every orphan of a dead host; returns their ids."""
    found = await anyio.to_thread.run_sync(orphans)
    if not found:
        return []
    log.warning("ending processes %s, left by a session that was killed", sorted(found))
    _signal(found, signal.SIGTERM, signal.SIGCONT)
    with anyio.move_on_after(grace):
        await _gone(found)
    _signal(found, signal.SIGKILL)
    return sorted(found)


def orphans() -> dict[int, Stat]:
    """Our own user's living processes of which every host is dead."""
    found: dict[int, Stat] = {}
    if _identity() == UNKNOWN:
        return found
    ours = _around_us()
    for pid in all_processes():
        with suppress(OSError):
            if pid in ours or os.stat(f"/proc/{pid}").st_uid != os.geteuid():
                continue
            marks = _marks(environ_of(pid))
            stat = stat_of(pid)
            if marks and stat and stat.alive and not stat.has_terminal and not any(map(_may_live, marks)):
                found[pid] = stat
    return found


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


async def _gone(found: dict[int, Stat]) -> None:
    for pid, stat in found.items():
        while _is_same(pid, stat):  # noqa: ASYNC110 -- nothing tells of the end of a process that is not our child
            await anyio.sleep(0.02)


def _is_same(pid: int, stat: Stat) -> bool:
    now = stat_of(pid)
    return now is not None and now.alive and now.began == stat.began


@lru_cache(maxsize=1)
def _space() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def _identity() -> str:
    try:
        stat = stat_of(os.getpid())
        # In a space of process ids of our own, with the /proc of another, this is a stranger.
        mine = os.readlink("/proc/self") == str(os.getpid())
        return f"{_space()}-{os.getpid()}-{stat.began}" if stat and mine else UNKNOWN
    except OSError:
        return UNKNOWN


def _marks(environ: bytes) -> list[str]:
    start = f"{MARKER}=".encode()
    for item in environ.split(b"\0"):
        if item.startswith(start):
            return item[len(start) :].decode("ascii", "replace").split(":")
    return []


def _may_live(mark: str) -> bool:
    """Whether the host behind a mark may still be there."""
    try:
        space, pid, began, _ = mark.split("-")
        if int(space) != _space():
            return True
        os.kill(int(pid), 0)
        host = stat_of(int(pid))  # None where other users' processes are hidden: then it may well live
        return host is None or (host.alive and host.began == int(began))
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, OSError):
        return True
