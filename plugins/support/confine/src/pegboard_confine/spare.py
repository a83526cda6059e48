"""One child that waits for a command, and the command that it is given."""

from __future__ import annotations

import array
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pegboard_confine import helper

SECONDS = 10.0
"""How long the helper or a child may take to answer."""
LAST_WORD = 1.0
"""Seconds that a child that is no longer needed may take to report its id, once no new ones are created."""


class HelperError(OSError):
    """The helper does not start, or does not answer."""


class ChildGoneError(HelperError):
    """A child has ended before it took a command: the command has not begun, and another child may have it."""


@dataclass(frozen=True, slots=True)
class SpareCommand:
    """A command for a waiting child."""

    program: str
    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    standard: tuple[int, int, int]
    """Its input, output and errors."""
    ruleset: int
    limits: Sequence[tuple[int, int]] = ()
    """Resources by number, and how much of each a process may use."""

    def message(self) -> bytes:
        """The command as a child reads it; a `ValueError` where it cannot be told."""
        words = [self.cwd, self.program, *self.argv, *(f"{name}={value}" for name, value in self.env.items())]
        if any("\0" in word for word in words):
            raise ValueError("embedded null byte")
        text = "\0".join(words).encode("utf-8", "surrogateescape")
        body = b"".join(helper.LIMIT.pack(*limit) for limit in self.limits) + text
        return helper.HEADER.pack(len(body), len(self.argv), len(self.limits)) + body


class Spare:
    """A child of ours that waits for a command, or has become one. Looks like a `subprocess.Popen` to its owner."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        channel.settimeout(SECONDS)
        self.pid = 0
        """Its id, once it has told it."""
        self.returncode: int | None = None

    def hear(self) -> None:
        """Wait until it has told its id. It does so itself, so that it is known even where the helper is gone."""
        if self.pid:
            return
        data = b""
        while len(data) < helper.ID.size and (piece := self._channel.recv(helper.ID.size - len(data))):
            data += piece
        if len(data) < helper.ID.size:
            raise ChildGoneError("the confinement helper is gone, or cannot start processes")
        (self.pid,) = helper.ID.unpack(data)

    def give(self, message: bytes, job: SpareCommand) -> None:
        """Hand over the command and wait until it is taken; `ChildGoneError` where it was not, and never will be."""
        rights = array.array("i", [*job.standard, job.ruleset])
        try:
            sent = self._channel.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            if sent < len(message):
                self._channel.sendall(message[sent:])
            taken = self._channel.recv(1)
        except OSError as error:
            taken, problem = self._last_word(), error.strerror or str(error)
        else:
            problem = "it ended while it waited"
        if taken != helper.TAKEN:
            raise ChildGoneError(f"a child did not take its command: {problem}")
        self._channel.close()

    def _last_word(self) -> bytes:
        """End the child, and return whether it had taken its command by then: a command must not start twice."""
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with suppress(OSError):
            self._channel.setblocking(False)
            return self._channel.recv(1)
        return b""

    def poll(self) -> int | None:
        """The exit code once it has ended and was reaped, as of `subprocess.Popen`."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # the embedding application reaps children it did not start
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def dismiss(self) -> None:
        """It is not needed any more: end it and reap it, unless it never was."""
        if not self.pid:
            with suppress(OSError):
                self._channel.settimeout(LAST_WORD)
                self.hear()
        self._channel.close()
        if not self.pid or self.poll() is not None:
            return
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def forget(self) -> None:
        """In a fork of the host: it is the parent's child, and the parent's channel."""
        self._channel.close()
