"""Hold a process and all that it starts to an amount of memory, with a control group of the kernel."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from pegboard import ToolError

ROOT = Path("/sys/fs/cgroup")
OLD_SECONDS = 60.0
"""A group is entered within moments; one that is empty after this long was left behind."""
ENTER = 'echo 0 > "$0/cgroup.procs" || exit 125; exec "$@"'
"""The process itself enters before it becomes the program: moved from outside, it could have had children by then."""


class MemoryCap:
    """A control group with a limit, made for one process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def around(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The same command, begun inside the group."""
        return ("/bin/sh", "-c", ENTER, str(self._folder), *argv)

    def enter(self, pid: int) -> None:
        """Move a process that has done nothing yet, and so has no children."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    def fired(self) -> bool:
        """Whether the kernel has ended something in the group because memory ran out."""
        return kills_in(self._folder) > 0

    def remove(self) -> None:
        """Take the group away; as long as a process is in it the kernel refuses, and then it stays."""
        with suppress(OSError):
            self._folder.rmdir()


def cap_memory(most: int, token: str) -> MemoryCap:
    """A group that may use `most` bytes; a `ToolError` where the kernel lets us make none."""
    for parent in _parents():
        _remove_old(parent)
        folder = parent / f"pegboard-{token}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if _limited(folder, most):
            return MemoryCap(folder)
        MemoryCap(folder).remove()
    reason = "Memory cannot be limited here: no control group with a memory limit can be created below this process."
    raise ToolError(
        f"{reason} Remove the limit from the settings, or run in a delegated control group.", code="unsupported"
    )


def kills_for_memory() -> int:
    """How many processes of our own group the kernel has ended for want of memory; 0 where it does not say."""
    return max((kills_in(folder) for folder in _own()), default=0)


def kills_in(folder: Path) -> int:
    """The kernel's own count for a group: in `memory.events`, or in `memory.oom_control` for groups of the old kind."""
    for name in ("memory.events", "memory.oom_control"):
        with suppress(OSError, ValueError, IndexError):
            lines = (folder / name).read_text().splitlines()
            return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
    return 0


def _remove_old(parent: Path) -> None:
    """Take away the groups of hosts that were killed; the kernel keeps those that have a process in them."""
    with suppress(OSError):
        for folder in parent.glob("pegboard-*"):
            if time.time() - folder.stat().st_mtime > OLD_SECONDS:
                MemoryCap(folder).remove()


def _limited(folder: Path, most: int) -> bool:
    try:
        if (folder / "memory.max").exists():
            (folder / "memory.max").write_text(str(most))
            # Otherwise a process at its limit swaps and slows the machine down instead of ending.
            (folder / "memory.swap.max").write_text("0")
        else:
            (folder / "memory.limit_in_bytes").write_text(str(most))
            with suppress(OSError):  # not every kernel counts swap
                (folder / "memory.memsw.limit_in_bytes").write_text(str(most))
    except OSError:
        return False
    # A group may be created and limited by a user who may not move processes into it.
    return os.access(folder / "cgroup.procs", os.W_OK)


def _parents() -> Iterator[Path]:
    """Where a group may be made: in our own, or next to it: a version 2 group has either groups or processes."""
    for folder in _own():
        yield folder
        if folder != ROOT and not folder.is_relative_to(ROOT / "memory"):
            yield folder.parent


@lru_cache(maxsize=1)
def _own() -> tuple[Path, ...]:
    """The groups that count our memory, of the old kind and of the new."""
    try:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return ()
    old = [ROOT / "memory" / path.lstrip("/") for _, kinds, path in lines if "memory" in kinds.split(",")]
    new = [ROOT / path.lstrip("/") for _, kinds, path in lines if not kinds and (ROOT / "cgroup.controllers").exists()]
    return (*old, *new)
