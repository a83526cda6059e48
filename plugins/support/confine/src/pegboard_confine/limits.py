"""How much a confined process may use."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

CPU, FILE_SIZE, DATA, CORE, PROCESSES = 0, 1, 2, 4, 6
"""The kernel's numbers."""
NO_CORE = 1
"""Less than a core file needs, and the one value with which the kernel does not call a helper for it either."""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits for each process; None is no limit."""

    memory_bytes: int | None = 4_000_000_000
    """Of memory that a process has for itself; what it maps of files does not count."""
    cpu_seconds: int | None = 600
    file_bytes: int | None = 1_000_000_000
    """How large a file in the private folder may grow."""
    processes: int | None = 1_000
    """How many more processes there may be on the machine; the kernel does not hold root to it."""

    def as_numbers(self) -> list[tuple[int, int]]:
        """Resources and their limits, none above what this host may itself use."""
        wanted = [
            (CORE, NO_CORE),
            (CPU, self.cpu_seconds),
            (FILE_SIZE, self.file_bytes),
            (DATA, self.memory_bytes),
            # The kernel does not hold root to it.
            (PROCESSES, _running() + self.processes if self.processes is not None and os.geteuid() else None),
        ]
        return [(number, _within(number, most)) for number, most in wanted if most is not None]


GATE = 'read -r _ <&"$0"; exec "$@"'
"""The command waits until it is in its group."""


class Started(Protocol):
    """A process that has begun."""

    @property
    def pid(self) -> int:
        """Its id: a child of this host, the leader of its own session."""
        ...

    def poll(self) -> int | None:
        """Its exit code, once it has ended; reaps it."""
        ...


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to start, with what a `pegboard_processes.Starter` is given."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    standard: tuple[int, int, int]
    """Its input, output and errors."""
    enter: Callable[[int], None] | None = None
    """Called with its id before it does anything."""


def limited(launch: Launch, limits: list[tuple[int, int]], descriptors: tuple[int, ...] = ()) -> Started:
    """Start a command under limits, with all other rights that this host has."""
    standard, enter = launch.standard, launch.enter
    outlet, inlet = os.pipe()
    words = ("/bin/sh", "-c", GATE, str(outlet), *launch.argv) if enter else launch.argv
    try:
        started = subprocess.Popen(
            words,
            cwd=launch.cwd,
            env=dict(launch.env),
            stdin=standard[0],
            stdout=standard[1],
            stderr=standard[2],
            pass_fds=(outlet, *descriptors) if enter else descriptors,
            start_new_session=True,
        )
        with suppress(ProcessLookupError):  # it was quicker
            for number, most in limits:
                resource.prlimit(started.pid, number, (most, most))
        if enter:
            enter(started.pid)
            os.write(inlet, b"\n")
    finally:
        os.close(outlet)
        os.close(inlet)
    return started


def _within(number: int, most: int) -> int:
    hard = resource.getrlimit(number)[1]
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def _running() -> int:
    """How many threads there are on the machine: the limit counts all of one user."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 30_000
