"""One process, from its start until nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import anyio

from pegboard import ToolError
from pegboard_processes.interface import OnBytes, ProcessExit, ProcessSpec, Started
from pegboard_processes.memory import MemoryCap, cap_memory
from pegboard_processes.reaper import ProcessTree, latest_process
from pegboard_processes.streams import Pipe, Sink
from pegboard_processes.terminal import Terminal

DRAIN = 2.0
"""Seconds that descendants of a process that has ended may go on writing, or running when nothing may be left."""
SHORT = 0.5
"""Seconds for those who have had their time: what outlived its call, and what still writes after its tree is dead."""
QUIET = 0.2
"""A pipe that stayed empty for this many seconds has nothing more to say."""
YOUNG = 1.0


class ChildPipe(Protocol):
    """One of the pipes between us and a process."""

    moved: int
    ended: anyio.Event
    on_full: Callable[[], None]

    async def pump(self) -> None:
        """Move what comes until it ends or `stop` is called."""
        ...

    def seal(self) -> None:
        """Close our copy of the end that belongs to the process."""
        ...

    def stop(self) -> None:
        """Move nothing further."""
        ...

    def close(self) -> None:
        """Give the descriptors back."""
        ...


@dataclass(frozen=True, slots=True)
class Times:
    """How many seconds a process has."""

    timeout: float | None
    """Until it is ended; None for as long as it takes."""
    grace: float
    """Between being asked to end and being killed."""


class Child:
    """A process and everything it started. `spawn()` makes one; `watch()` must run while it lives."""

    def __init__(
        self,
        started: Started,
        tree: ProcessTree,
        sink: Sink,
        pipes: Sequence[ChildPipe],
        times: Times,
        cap: MemoryCap | None = None,
    ) -> None:
        self._cap = cap
        self._started, self._tree, self._sink, self._pipes = started, tree, sink, pipes
        self._timeout, self._grace = times.timeout, times.grace
        self._began = time.monotonic()
        self._scope = anyio.CancelScope()
        self._lock = anyio.Lock(fast_acquire=True)
        self._done = anyio.Event()
        self._exit = ProcessExit(None)
        self._reaped = False
        self.terminal: Terminal | None = None
        self.on_reaped: Callable[[Child], None] = lambda _: None
        self.on_ended: Callable[[], None] = lambda: None

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._started.pid

    @property
    def output(self) -> Path | None:
        """The file that grows with its output."""
        return self._sink.path

    @property
    def finished(self) -> bool:
        """Whether the process itself has ended and its output is closed."""
        return self._done.is_set()

    async def wait(self) -> ProcessExit:
        """Wait for the process itself."""
        await self._done.wait()
        return self._exit

    async def send(self, data: bytes) -> int:
        """Type into its terminal."""
        if self.terminal is None:
            raise ToolError("It has no terminal, so nothing can be typed into it.", code="unsupported", remedy="")
        if self.finished:
            raise ToolError("It has ended, so nothing can be typed into it.", code="no_match", remedy="")
        return await self.terminal.type(data)

    async def kill(self) -> None:
        """End the process and all that it started."""
        # Shielded: a cancelled caller must not leave processes behind.
        with anyio.CancelScope(shield=True):
            await self._end(self._grace)
            await self._done.wait()
            await self._reap()

    async def watch(self, *, leave_nothing: bool = False) -> ProcessExit:
        """Listen, keep the time, and clean up. Cancelling ends the whole tree."""
        handle, timed_out, waited, well = _pidfd(self.pid), False, False, False
        try:
            async with anyio.create_task_group() as tasks:
                for pipe in self._pipes:
                    tasks.start_soon(pipe.pump)
                try:
                    # Only the process itself is timed; reading the rest of its output has its own limits.
                    with self._scope, anyio.move_on_after(self._timeout) as clock:
                        await _exited(self.pid, handle)
                    timed_out = clock.cancelled_caught
                    # Processes that it started may still hold its pipes, so it is not over yet.
                    if not (timed_out or self._sink.full):
                        waited = leave_nothing
                        well = await (self._left_alone() if leave_nothing else self._drained(DRAIN))
                finally:
                    with anyio.CancelScope(shield=True):
                        if not well:
                            await self._end(SHORT if waited else self._grace)
                            await self._drained(SHORT)
                    self._stop_listening()
        finally:
            # Before reaping: whoever waits must learn the exit even if a survivor cannot be ended.
            self._close(handle, timed_out)
            try:
                with anyio.CancelScope(shield=True):
                    await self._reap(unless_survived=well and not leave_nothing)
            finally:
                self.on_ended()
        return self._exit

    async def _left_alone(self) -> bool:
        """Give descendants a while to end by themselves; False when some did not."""
        with anyio.move_on_after(DRAIN):
            for pipe in self._pipes:
                await pipe.ended.wait()
            pause = 0.005
            while self._survivors():
                await anyio.sleep(pause)
                pause = min(pause * 1.6, 0.05)
            return True
        return False

    async def _drained(self, seconds: float) -> bool:
        """Take what is still in the pipes, and what comes, until they end or fall quiet."""
        with anyio.move_on_after(seconds):
            moved = -1
            while moved != (moved := sum(pipe.moved for pipe in self._pipes)):
                with anyio.move_on_after(QUIET):
                    for pipe in self._pipes:
                        await pipe.ended.wait()
                    break
        return True

    async def _end(self, grace: float) -> None:
        async with self._lock:
            if self._reaped:
                return
            if await self._tree.end(min(grace, self._grace)):
                self._scope.cancel()  # it cannot be ended, so it must not be waited for

    def _survivors(self) -> bool:
        return bool(self._tree.members(young=time.monotonic() - self._began < YOUNG))

    def _stop_listening(self) -> None:
        for pipe in self._pipes:
            pipe.stop()

    def _close(self, handle: int, timed_out: bool) -> None:
        if handle >= 0:
            os.close(handle)
        for pipe in self._pipes:
            pipe.close()
        self._sink.close()
        # WNOWAIT leaves the zombie, whose id protects the tree from signals to strangers.
        code, name = _status(self.pid)
        sink, starved = self._sink, self._cap is not None and self._cap.fired()
        cut = sink.full or bool(sink.error)
        self._exit = ProcessExit(code, name, timed_out, sink.path, sink.size, cut, sink.error, starved)
        self._done.set()

    async def _reap(self, *, unless_survived: bool = False) -> None:
        # Under the lock: whoever is ending the tree relies on the id being ours.
        async with self._lock:
            self.reap_now(unless_survived=unless_survived)

    def reap_now(self, *, unless_survived: bool = True) -> None:
        """Take the exit status from the kernel; not while descendants live, whom we could no longer tell apart."""
        if not self._reaped and not (unless_survived and self._survivors()):
            self._reaped = self._started.poll() is not None
            if self._reaped:
                if self._cap:
                    self._cap.remove()
                self.on_reaped(self)

    def sweep(self) -> None:
        """Reap a finished process whose survivors have ended by themselves since."""
        if self.finished and not self._lock.locked():
            self.reap_now()

    def overflow(self) -> None:
        """The limit is passed. Kill it without a grace period: what it still writes is not read."""
        if not self._reaped:
            # Not SIGTERM: a handler could go on writing, and no one reads the pipe any more.
            self._tree.signal(signal.SIGKILL)


def spawn(
    spec: ProcessSpec, token: str, sink: Sink, grace: float, on_output: OnBytes | None, on_error: OnBytes | None
) -> Child:
    """Start a process that is given its input and whose output is taken as it comes."""
    if spec.tty:
        return _spawn_on_terminal(spec, token, sink, grace, on_output)
    pipes, stdin = [Pipe(sink, on_output, keep=True)], subprocess.DEVNULL
    try:
        if on_error:
            pipes.append(Pipe(sink, on_error, keep=False))
        # Inside the try: a full disk or too many open files must not leak the pipes made above.
        stdin = _as_file(spec.stdin)
        return spawn_with(spec, token, sink, grace, pipes, (stdin, pipes[0].inlet, pipes[-1].inlet))
    except BaseException:
        for pipe in pipes:
            pipe.close()
        raise
    finally:
        if stdin != subprocess.DEVNULL:
            os.close(stdin)


def _spawn_on_terminal(spec: ProcessSpec, token: str, sink: Sink, grace: float, on_output: OnBytes | None) -> Child:
    """Start a process that has a terminal for input, output and errors."""
    terminal = Terminal(sink, on_output, keep=True)
    inlet = terminal.inlet
    child = spawn_with(spec, token, sink, grace, [terminal], (inlet, inlet, inlet))
    child.terminal = terminal
    return child


def spawn_with(
    spec: ProcessSpec,
    token: str,
    sink: Sink,
    grace: float,
    pipes: Sequence[ChildPipe],
    standard: tuple[int, int, int],
) -> Child:
    """Start a process as the leader of its own session, which is also its own group."""
    cap = cap_memory(spec.max_memory_bytes, token) if spec.max_memory_bytes else None
    try:
        # A starter hands out a process that was waiting, so its id is old: its descendants come after the latest one.
        latest = latest_process() if spec.starter else 0
        started = _start(spec, cap, standard)
    except BaseException as error:
        for pipe in pipes:
            pipe.close()
        if cap:
            cap.remove()
        # A ValueError is how Popen refuses NUL characters in arguments, folders and variables.
        if isinstance(error, OSError | ValueError):
            raise _cannot_start(spec, error) from error
        raise
    child = Child(started, ProcessTree(started.pid, token, latest), sink, pipes, Times(spec.timeout, grace), cap)
    for pipe in pipes:
        pipe.seal()
        pipe.on_full = child.overflow
    return child


def _start(spec: ProcessSpec, cap: MemoryCap | None, standard: tuple[int, int, int]) -> Started:
    if spec.starter is None:
        argv = cap.around(spec.argv) if cap else spec.argv
        stdin, stdout, stderr = standard
        return subprocess.Popen(
            # A session of its own: Ctrl-C in our terminal must reach us only, and we end the whole group at once.
            argv,
            cwd=spec.cwd,
            env=spec.env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    enter = cap.enter if cap else None
    if standard[0] != subprocess.DEVNULL:
        return spec.starter(spec.argv, str(spec.cwd), spec.env, standard, enter)
    # A starter passes descriptors on, so DEVNULL, which is a marker of subprocess, has to become a real one.
    with open(os.devnull, "rb") as nothing:
        return spec.starter(spec.argv, str(spec.cwd), spec.env, (nothing.fileno(), *standard[1:]), enter)


def _cannot_start(spec: ProcessSpec, error: OSError | ValueError) -> ToolError:
    program = spec.argv[0]
    if isinstance(error, ValueError):
        return ToolError(
            f"{program!r} cannot be started: its arguments contain a character that cannot be passed to a program."
        )
    if not spec.cwd.is_dir():
        return ToolError(f"{program} cannot be started in {spec.cwd}: the folder does not exist.", code="not_found")
    if isinstance(error, FileNotFoundError):
        return ToolError(f"{program} cannot be started: the program was not found.", code="not_found")
    return ToolError(f"{program} cannot be started: {error.strerror}.", code="unsupported")


def _as_file(data: bytes | None) -> int:
    """Input as an unnamed file: unlike a pipe, no task has to feed it, however large it is."""
    if data is None:
        return subprocess.DEVNULL
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("pegboard-stdin")
    else:
        with tempfile.TemporaryFile() as unnamed:
            file = os.dup(unnamed.fileno())
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.lseek(file, 0, os.SEEK_SET)
    except BaseException:
        os.close(file)
        raise
    return file


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


async def _exited(pid: int, handle: int) -> None:
    """Wait until a process has ended, without reaping it."""
    if handle >= 0:
        await anyio.wait_readable(handle)
        return
    pause = 0.001
    while _peek(pid) is None:
        await anyio.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def _peek(pid: int) -> tuple[int, int] | None:
    """How a process ended: what kind of end, and the code or signal. None while it runs."""
    try:
        info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # the embedding application reaps children it did not start
        return (os.CLD_EXITED, -1)
    return (info.si_code, info.si_status) if info else None


def _status(pid: int) -> tuple[int | None, str]:
    kind, number = _peek(pid) or (os.CLD_EXITED, -1)
    if kind == os.CLD_EXITED:
        return (number if number >= 0 else None), ""
    try:
        return None, signal.Signals(number).name
    except ValueError:
        return None, f"signal {number}"
