"""Schedules that outlive their session: one private file for each project, in the person's own state folder.

It is never in the project: a repository must not bring prompts that run by themselves.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard import PegboardError, ToolError
from pegboard.settings import state_dir

if TYPE_CHECKING:
    from pegboard_schedule.schedule import Schedule

OTHERS = 0o022
LARGEST = 5_000_000
TAKEN = "Another process serves the schedules of this project. End it first, or leave it to that process."


class DurableSchedules:
    """The durable schedules of one project. Any number of processes may use the file at once."""

    def __init__(self, file: Path, root: str) -> None:
        self.file, self.root = file, root

    @classmethod
    def of(cls, root: str, env: dict[str, str] | None = None) -> DurableSchedules | None:
        """Those of the project with this root; None where the person has no state folder."""
        folder = state_dir(os.environ if env is None else env)
        real = os.path.realpath(root)
        name = sha256(os.fsencode(real)).hexdigest()[:32]
        return cls(Path(folder, "schedules", f"{name}.json"), real) if folder else None

    def all(self) -> list[Schedule]:
        """What is kept. A `PegboardError` where the file cannot be trusted or read: it is never overwritten then."""
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._broken(f"{error.strerror}") from None
        with open(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & OTHERS:
                raise self._broken("it does not belong to you alone")
            raw = stream.read(LARGEST + 1)
        # Most sessions have no schedule and never need what reads one.
        from pegboard_schedule.schedule import kept

        try:
            data = json.loads(raw)
            if data["root"] != self.root:
                raise self._broken(f"it is about {data['root']!r}")
            rows = data["schedules"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise self._broken(f"it is not valid ({type(error).__name__})") from None
        try:
            return [kept(row, durable=True) for row in rows]
        except ToolError as error:
            raise self._broken(error.message) from None
        except (ValueError, TypeError) as error:
            raise self._broken(f"it is not valid ({type(error).__name__})") from None

    def add(self, schedule: Schedule) -> None:
        """Keep one more."""
        self._change(lambda known: [*known, schedule])

    def remove(self, key: str) -> None:
        """Forget one; it may be gone already."""
        self._change(lambda known: [found for found in known if found.id != key])

    @contextmanager
    def serving(self) -> Generator[None, None, None]:
        """Inside, this process alone runs them; a `PegboardError` where another one does."""
        descriptor = self._open_lock("serving")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise PegboardError(TAKEN) from None
        try:
            yield
        finally:
            os.close(descriptor)

    def _change(self, change: Callable[[list[Schedule]], list[Schedule]]) -> None:
        lock = self._open_lock("lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._write(change(self.all()))
        except OSError as error:
            raise self._broken(f"{error.strerror}") from None
        finally:
            os.close(lock)

    def _write(self, schedules: list[Schedule]) -> None:
        rows = [schedule.model_dump(mode="json") for schedule in schedules]
        text = json.dumps({"root": self.root, "schedules": rows}, indent=1) + "\n"
        descriptor, name = tempfile.mkstemp(dir=self.file.parent, prefix=".schedules-")
        try:
            with open(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(descriptor)
            os.replace(name, self.file)
        except BaseException:
            os.unlink(name)
            raise

    def _open_lock(self, kind: str) -> int:
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(self.file.with_suffix(f".{kind}"), flags, 0o600)
        except OSError as error:
            raise self._broken(f"{error.strerror}") from None

    def _broken(self, why: str) -> ToolError:
        reason = why.removesuffix(".")
        words = f"The durable schedules in {self.file} cannot be used: {reason}. Repair the file or delete it."
        return ToolError(words, code="failed", remedy="")
