"""The host's side of the helper: children that wait for a command, at hand before they are needed."""

from __future__ import annotations

import array
import atexit
import os
import socket
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from pegboard_confine import helper, landlock, seccomp
from pegboard_confine.spare import SECONDS, ChildGoneError, HelperError, Spare, SpareCommand

__all__ = ["HELPER", "Helper", "HelperError", "Spare", "SpareCommand"]

AHEAD = 2
"""How many children wait: one to be taken, one in case another call comes before it is replaced."""
TRIES = 3


class Helper:
    """The helper process of this host; started when it is first needed, and again when it was ended."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._waiting: deque[Spare] = deque()
        """Children that were ordered, oldest first."""

    @property
    def pid(self) -> int | None:
        """The id of the helper process while it runs."""
        return self._process.pid if self._process else None

    def start(self, job: SpareCommand, enter: Callable[[int], None] | None = None) -> Spare:
        """Make one of the waiting children the command. `enter` is called with its id before the child is told."""
        message, problem = job.message(), ""
        for _ in range(TRIES):
            try:
                return self._begin(message, job, enter)
            except HelperError as error:
                problem = str(error)
        raise HelperError(f"the confinement helper does not work ({problem})")

    def _begin(self, message: bytes, job: SpareCommand, enter: Callable[[int], None] | None) -> Spare:
        spare = self._take()
        try:
            if enter:
                enter(spare.pid)
            spare.give(message, job)
        except BaseException as error:
            ended = spare.poll() is not None
            spare.dismiss()
            if ended and isinstance(error, OSError) and not isinstance(error, HelperError):
                raise ChildGoneError("a child ended while it waited") from error
            raise
        return spare

    def warm(self) -> None:
        """Start, and have children waiting."""
        with self._lock, suppress(OSError):
            self._ensure()
            self.top_up()
            for spare in self._waiting:
                spare.hear()

    def top_up(self) -> None:
        """Replace children that were taken. Not while a command starts: making one takes as long as a short command."""
        with self._lock, suppress(OSError):
            while self._control is not None and len(self._waiting) < AHEAD:
                self._order()

    def close(self) -> None:
        """End the helper and those who wait."""
        with self._lock:
            self._abandon()

    def forget(self) -> None:
        """In a fork of the host: these are the parent's. Copies of its sockets would keep the helper from ending."""
        waiting, control, process = self._waiting, self._control, self._process
        self.__init__()  # type: ignore[misc]
        for spare in waiting:
            spare.forget()
        if control is not None:
            control.close()
        if process is not None:
            process.returncode = 0  # It is not waited for here.

    def _take(self) -> Spare:
        """A child that lives and waits; a `HelperError` where there is none, and the next try begins anew."""
        with self._lock:
            try:
                self._ensure()
                spare = self._next()
                while spare.poll() is not None:  # it was ended while it waited
                    spare.dismiss()
                    spare = self._next()
            except OSError as error:
                self._abandon()
                if isinstance(error, HelperError) or error.errno in landlock.USED_UP:
                    raise
                raise HelperError(error.strerror or str(error)) from error
            if not self._waiting:
                with suppress(OSError):  # whoever comes next finds out
                    self._order()
            return spare

    def _next(self) -> Spare:
        if not self._waiting:
            self._order()
        self._waiting[0].hear()
        return self._waiting.popleft()

    def _ensure(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._abandon()
        ours, theirs = socket.socketpair()
        self._control = ours
        ours.settimeout(SECONDS)
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-E", helper.__file__, str(number)],
                pass_fds=(number,),
                env={},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        program = seccomp.program(signals_are_scoped=landlock.version() >= landlock.FIRST_WITH_SCOPES)
        ours.sendall(struct.pack("=I", len(program)) + program)
        for _ in range(AHEAD):
            self._order()

    def _order(self) -> None:
        """Send the helper one end of a pair: it makes a child that listens there."""
        if self._control is None:
            raise HelperError("the confinement helper is gone")
        ours, theirs = socket.socketpair()
        try:
            rights = array.array("i", [theirs.fileno()])
            self._control.sendmsg([b"+"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._waiting.append(Spare(ours))

    def _abandon(self) -> None:
        # The helper first: once it is gone, an order that it has not begun is known to be void.
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._control is not None:
            self._control.close()
            self._control = None
        while self._waiting:
            self._waiting.popleft().dismiss()


HELPER = Helper()
atexit.register(HELPER.close)
os.register_at_fork(after_in_child=HELPER.forget)
