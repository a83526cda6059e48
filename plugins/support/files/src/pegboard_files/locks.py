"""One writer per file, across the threads of this process and the user's other processes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from pegboard import ToolError
from pegboard.settings import private_folder

STRIPES = 256
"""Files share this many locks, so that lock files need no cleaning up. Whoever holds one must not ask for another."""
PATIENCE = 10.0
PAUSE = 0.002
LONGEST_PAUSE = 0.05


class _Stripe:
    """A lock between threads, and how often its owner has taken it: only the first time concerns other processes."""

    def __init__(self) -> None:
        self.lock, self.depth = threading.RLock(), 0


_stripes = [_Stripe() for _ in range(STRIPES)]


@contextmanager
def path_lock(path: str, folder: Path | None, patience: float = PATIENCE) -> Generator[None, None, None]:
    """Hold the lock of a real path; with a folder for lock files, against other processes too.

    Lock files live in the state directory rather than beside the file: nothing appears in a working tree, and a file
    that does not exist yet can be locked. The kernel lets go of them when their owner dies.
    """
    # hash() differs between processes, which must agree on the lock file.
    number = hashlib.sha256(os.fsencode(path)).digest()[0]
    stripe, until = _stripes[number], time.monotonic() + patience
    if not stripe.lock.acquire(timeout=patience):
        raise _busy(path)
    try:
        stripe.depth += 1
        descriptor = -1
        try:
            # A second descriptor for the same lock file would wait for the first, which is ours.
            if folder is not None and stripe.depth == 1:
                descriptor = _open(folder, number)
                _take(descriptor, path, until)
            yield
        finally:
            stripe.depth -= 1
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)
    finally:
        stripe.lock.release()


def _open(folder: Path, number: int) -> int:
    """The lock file; -1 where there can be none, as in a state directory that cannot be written."""
    # O_CLOEXEC: a process that we start would inherit the lock and hold it after we have released it.
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    name = folder / f"{number:02x}.lock"
    try:
        return os.open(name, flags, 0o600)
    except FileNotFoundError:
        return os.open(name, flags, 0o600) if private_folder(folder) else -1
    except OSError:
        return -1


def _take(descriptor: int, path: str, until: float) -> None:
    if descriptor < 0:
        return
    pause = PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise _busy(path) from None
        except OSError:
            return  # A file system without locks: the check of the digest before the rename has to do.
        # Polling, because a blocking flock() could not be cancelled.
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _busy(path: str) -> ToolError:
    return ToolError(
        f"{path} is being changed by another process. Nothing was written; try again in a moment.", code="timeout"
    )
