"""Remove what dead hosts left behind. Costs one look into a folder when there is nothing to do."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pegboard_hosts.record import SUFFIX, hosts_folder

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "pegboard.leftovers"
KEPT_SECONDS = 7 * 24 * 3600
"""How long a record is kept for another try when something in it could not be removed."""

PATIENCE = 10.0
"""Seconds to wait for the lock of a host whose process is gone."""

log = logging.getLogger("pegboard")

Remove = Callable[["DeadHost", list[str]], None]
"""Removes one kind of leftovers of one dead host, by their names. Raises when it should be tried again later."""


@dataclass(slots=True)
class DeadHost:
    """A host that ended without tidying up."""

    id: str
    machine: str
    left: dict[str, list[str]] = field(default_factory=dict)
    """The names of what it left, by their kinds; the kind that was made last is last."""


def tidy_up(env: Mapping[str, str] | None = None) -> list[str]:
    """Remove what the dead hosts of this state directory left; returns their ids. Never touches a living host's."""
    folder = hosts_folder(os.environ if env is None else env)
    done: list[str] = []
    for path in _records(folder) if folder else ():
        with _taken(path) as file:
            host = _read(file) if file >= 0 else None
            if host and host.machine == os.uname().nodename:
                is_clean = _remove(host)
                if is_clean or time.time() - os.fstat(file).st_mtime > KEPT_SECONDS:
                    os.unlink(path)
                done.append(host.id)
    return done


def _records(folder: str) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(SUFFIX)]
    except OSError:
        return []


@contextmanager
def _taken(path: str) -> Iterator[int]:
    """The record of a dead host, locked so that no other process cleans up after the same one; -1 for a living host."""
    file = -1
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        yield file if file >= 0 and _is_free(file, path) else -1
    finally:
        if file >= 0:
            os.close(file)


def _is_free(file: int, path: str) -> bool:
    try:
        _lock(file)
        # Its host, or another one that tidied up, may have removed it before we had the lock.
        found = os.fstat(file)
        return found.st_uid == os.geteuid() and os.path.samestat(found, os.stat(path))
    except OSError:
        return False


def _lock(file: int) -> None:
    """Take the lock of a record; `BlockingIOError` when its host lives.

    A host that is killed while it starts a process leaves a child that shares the lock until it runs its program. Where
    the host is gone, that moment is awaited.
    """
    until = 0.0
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            until = until or time.monotonic() + (PATIENCE if _is_gone(file) else 0.0)
            if time.monotonic() >= until:
                raise
            time.sleep(0.02)


def _is_gone(file: int) -> bool:
    """Whether the process that wrote a record has ended. In doubt it has not."""
    try:
        said = json.loads(os.pread(file, 4096, 0).partition(b"\n")[0])
        if said["machine"] != os.uname().nodename:
            return False
        os.kill(int(said["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return False


def _read(file: int) -> DeadHost:
    """What a record says, as far as it can be read: a host may have died in the middle of a line."""
    host = DeadHost("", os.uname().nodename)
    with open(os.dup(file), "rb") as lines:
        for line in lines:
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                said = json.loads(line)
                if "host" in said:
                    host.id, host.machine = str(said["host"]), str(said["machine"])
                elif "made" in said:
                    kind = str(said["made"])
                    host.left[kind] = [*host.left.pop(kind, []), str(said["name"])]
                elif "gone" in said:
                    host.left[said["gone"]].remove(said["name"])
    return host


def _remove(host: DeadHost) -> bool:
    """Remove all that a host left, the last first: a process goes before what it uses. Whether nothing remains."""
    is_clean = True
    removers = _removers() if any(host.left.values()) else {}
    for kind, names in reversed(host.left.items()):
        if not names:
            continue
        try:
            remove: Remove = removers[kind].load()
            remove(host, names)
        except KeyError:  # its distribution is not installed here; it may be elsewhere
            is_clean = False
        except Exception:
            log.warning("cannot remove what a killed host left behind (%s)", kind, exc_info=True)
            is_clean = False
    return is_clean


def _removers() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # 10 ms, which only those pay who have something to remove

    return {point.name: point for point in entry_points(group=GROUP)}
