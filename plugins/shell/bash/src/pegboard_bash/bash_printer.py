"""bash as a printer: it reads a text on its standard input and prints what it has read. Nothing of it is run.

With `-c` it would run the text, and with `BASH_ENV` that file; so neither is ever given. Where Landlock is there it
runs confined like any command that only reads, and with no user folder to read.
"""

from __future__ import annotations

import atexit
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache

from pegboard_confine import (
    HELPER,
    LANDLOCK,
    Access,
    CannotHideError,
    Confinement,
    ResourceLimits,
    available,
    confinement_for,
)

FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
"""Not looked for in PATH: a project may have put a folder of its own there, and nothing is decided yet."""

OPTIONS = ("--norc", "--noprofile", "--pretty-print")
ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
SECONDS = 2
LARGEST = 256 * 1024 * 1024
MOST_PRINTED = 4 * 1024 * 1024
NOTHING_TO_SEE = Access((), "/nonexistent")
LIMITS = ResourceLimits(memory_bytes=LARGEST, cpu_seconds=SECONDS, file_bytes=0, processes=None)


def pretty_printed(text: str) -> str | None:
    """The text as bash prints it; None where it has a complaint."""
    bash = _bash()
    if bash is None:
        return None
    data = text.encode("utf-8", "surrogateescape")
    if available().kind == LANDLOCK:
        with suppress(OSError, CannotHideError):
            return _decoded(_confined(bash, data))
    return _decoded(_plain(bash, data))


def _decoded(printed: bytes | None) -> str | None:
    return None if printed is None else printed.decode("utf-8", "surrogateescape")


@cache
def _bash() -> str | None:
    return next(filter(os.path.exists, (f"{folder}/bash" for folder in FOLDERS)), None)


_places: dict[int, Confinement] = {}


def _place(host: int) -> Confinement:
    """One for each host process: bash writes nothing there, so the next text may come to the same place."""
    if host in _places:
        return _places[host]
    made = confinement_for(NOTHING_TO_SEE, LANDLOCK)
    kept = _places.setdefault(host, made)  # texts come from several threads
    if kept is made:
        atexit.register(made.end)
    else:
        made.end()
    return kept


def _confined(bash: str, data: bytes) -> bytes | None:
    """What it prints, held to reading; an `OSError` where it cannot be started so."""
    place = _place(os.getpid())
    outlet, inlet = os.pipe()
    errors, complaints = os.pipe()
    given = os.memfd_create("command")
    try:
        try:
            os.write(given, data)
            os.lseek(given, 0, os.SEEK_SET)
            started = place.start((bash, *OPTIONS), "/", ENVIRONMENT, (given, inlet, complaints), None, LIMITS)
        finally:
            for descriptor in (given, inlet, complaints):
                os.close(descriptor)
        deadline = time.monotonic() + SECONDS
        found = _collected((outlet, errors), deadline)
        if found is None:
            os.killpg(started.pid, signal.SIGKILL)
        while (code := started.poll()) is None:
            if time.monotonic() > deadline:
                os.killpg(started.pid, signal.SIGKILL)
            time.sleep(0.0001)
        return found[outlet] if found and code == 0 and not found[errors] else None
    finally:
        os.close(outlet)
        os.close(errors)
        HELPER.top_up()


def _collected(descriptors: tuple[int, ...], deadline: float) -> dict[int, bytes] | None:
    """All that comes out of pipes; None where it does not end in time, or is too much."""
    found = dict.fromkeys(descriptors, b"")
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(deadline - time.monotonic())
            if not ready or sum(map(len, found.values())) > MOST_PRINTED:
                return None
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                found[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    return found


def _plain(bash: str, data: bytes) -> bytes | None:
    """The same without confinement: an empty environment, limits, and no file but its standard ones."""
    pipe = subprocess.PIPE
    with subprocess.Popen((bash, *OPTIONS), stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", env=ENVIRONMENT) as process:
        try:
            _limit(process.pid)
            out, errors = process.communicate(data, SECONDS)
        except (subprocess.TimeoutExpired, OSError):
            process.kill()
            return None
    return out if process.returncode == 0 and not errors else None


def _limit(pid: int) -> None:
    if sys.platform == "linux":
        resource.prlimit(pid, resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.prlimit(pid, resource.RLIMIT_AS, (LARGEST, LARGEST))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
