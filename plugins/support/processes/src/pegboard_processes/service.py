"""Start processes so that they can be told apart, listened to, and ended with everything they started."""

from __future__ import annotations

import atexit
import copy
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from pegboard import ToolError
from pegboard_hosts import Note, note, tidy_up
from pegboard_processes.child import Child, ChildPipe, spawn, spawn_with
from pegboard_processes.environment import scrubbed
from pegboard_processes.groups import leave
from pegboard_processes.interface import OnBytes, ProcessExit, ProcessSpec
from pegboard_processes.open_process import Conversation, Inlet, Outlet, StderrTail
from pegboard_processes.orphans import mark
from pegboard_processes.reaper import GRACE, MARKER
from pegboard_processes.streams import Pipe, Sink
from pegboard_processes.terminal import on_terminal

Begin = Callable[[ProcessSpec, str, Sink], Child]
Wrap = Callable[[ProcessSpec], Awaitable[ProcessSpec]]

NOT_OPEN = "This process service is not open. Use it inside `async with`, or call run() instead."


class LocalProcesses:
    """Processes on this machine.

    `run` works right away. `start` needs a task that reads output between calls: enter the service with `async with`;
    on leaving, every process that is still there is ended.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        env: Mapping[str, str] | None = None,
        wrap: Wrap | None = None,
        grace: float = GRACE,
    ) -> None:
        """Keep output in `folder`, or in a private temporary folder that goes away with the service, or with the host.

        `env` is what every process gets; by default the host's own environment without its secrets.
        """
        self._env = dict(scrubbed(os.environ) if env is None else env)
        self._wrap, self._grace = wrap, grace
        self._shared = _SharedProcesses(folder)

    def wrapped_by(self, wrap: Wrap) -> LocalProcesses:
        """The same service for another context: what is started here goes through `wrap`."""
        view = copy.copy(self)
        view._wrap = wrap
        return view

    def apart(self, *, sweeps: bool = False) -> LocalProcesses:
        """A service of the same kind with its own life: what is started here ends with it and with nothing else.

        One that sweeps begins by removing what killed hosts have left behind.
        """
        view = copy.copy(self)
        view._shared = self._shared.apart(sweeps)
        return view

    async def start(
        self, spec: ProcessSpec, *, on_output: OnBytes | None = None, on_error: OnBytes | None = None
    ) -> Child:
        """Start a process that may outlive the call."""
        tasks = self._shared.tasks
        if tasks is None:
            raise RuntimeError(NOT_OPEN)
        child = await self._spawn(spec, self._plainly(on_output, on_error), tasks)
        tasks.start_soon(child.watch)
        return child

    async def run(
        self, spec: ProcessSpec, *, on_output: OnBytes | None = None, on_error: OnBytes | None = None
    ) -> ProcessExit:
        """Start a process, wait for it and leave nothing of it behind."""
        child = await self._spawn(spec, self._plainly(on_output, on_error))
        return await child.watch(leave_nothing=True)

    def _plainly(self, on_output: OnBytes | None, on_error: OnBytes | None) -> Begin:
        return lambda spec, token, sink: spawn(spec, token, sink, self._grace, on_output, on_error)

    @asynccontextmanager
    async def open(
        self,
        spec: ProcessSpec,
        *,
        on_error: OnBytes | None = None,
        grace: float = GRACE,
        idle: float | None = None,
    ) -> AsyncIterator[Conversation]:
        """Start a process and talk to it; it ends with the context, or with the service."""
        async with self._listening() as tasks:
            talk = await self._converse(spec, on_error, grace)
            tasks.start_soon(talk.watch)
            if idle is not None:
                tasks.start_soon(talk.close_when_idle, idle)
            try:
                yield talk
            finally:
                await talk.close()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[TaskGroup]:
        """The task that reads output: the service while it is open, else the caller while the context lasts."""
        if self._shared.tasks is not None:
            yield self._shared.tasks
            return
        tasks, error = await anyio.create_task_group().__aenter__(), None
        try:
            yield tasks
        # Also a cancellation: without the error, leaving the task group would wait for its tasks.
        except BaseException as raised:
            error = raised
            raise
        finally:
            await leave(tasks, error)

    async def _converse(self, spec: ProcessSpec, on_error: OnBytes | None, grace: float) -> Conversation:
        inlet, outlet, tail = Inlet(), Outlet(), StderrTail(on_error)

        def begin(spec: ProcessSpec, token: str, sink: Sink) -> Child:
            errors = Pipe(sink, tail, keep=False)
            pipes: list[ChildPipe] = [inlet, outlet, errors]
            return spawn_with(spec, token, sink, self._grace, pipes, (inlet.outlet, outlet.inlet, errors.inlet))

        try:
            child = await self._spawn(replace(spec, keep_output=False), begin, self._shared.tasks)
        except BaseException:
            inlet.close()
            outlet.close()
            raise
        return Conversation(spec, child, inlet, outlet, tail, grace)

    async def _spawn(self, spec: ProcessSpec, begin: Begin, listeners: TaskGroup | None = None) -> Child:
        spec = on_terminal(spec) if spec.tty else spec
        spec = replace(spec, env={**self._env, **spec.env})
        if self._wrap:
            spec = await self._wrap(spec)
        try:
            # Asked again here because `_wrap` awaits: the service may have been closed and opened since.
            if listeners is not None and listeners is not self._shared.tasks:
                raise RuntimeError(NOT_OPEN)  # It was left in the meantime, and nothing would supervise the process.
            child = self._begin(spec, begin)
        except BaseException:
            if spec.on_end:
                spec.on_end()
            raise
        if spec.on_end:
            child.on_ended = spec.on_end
        return child

    def _begin(self, spec: ProcessSpec, begin: Begin) -> Child:
        if not spec.argv:
            raise ToolError("The command is empty, so there is nothing to start.")
        # Also the marks of a host around this one: whoever ends that host ends our processes too.
        token = secrets.token_hex(12)
        spec = replace(spec, env={**spec.env, MARKER: mark(token)})
        # On record before the first process exists: a host that is killed in between must not leave it unknown.
        self._shared.note_processes()
        self._shared.sweep()
        sink = Sink(self._shared.new_file(token) if spec.keep_output else None, spec.max_output_bytes)
        try:
            child = begin(spec, token, sink)
        except BaseException:
            sink.discard()
            raise
        self._shared.live[child] = None
        child.on_reaped = self._shared.forget
        return child

    async def __aenter__(self) -> LocalProcesses:
        self._shared.tasks = await anyio.create_task_group().__aenter__()
        if self._shared.sweeps:
            self._shared.tasks.start_soon(_tidy_up)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Set to None first, so that nothing new is started while everything is being ended.
        tasks, self._shared.tasks = self._shared.tasks, None
        if tasks is None:
            return
        try:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as enders:
                    # A copy: each child takes itself out of `live` when it has been reaped.
                    for child in list(self._shared.live):
                        enders.start_soon(child.kill)
        finally:
            self._shared.remove()
            await leave(tasks, error)


class _SharedProcesses:
    """What all views of one service share."""

    def __init__(self, folder: Path | None, *, sweeps: bool = False) -> None:
        self._folder, self._own, self.sweeps = folder, False, sweeps
        self.live: dict[Child, None] = {}
        self.tasks: TaskGroup | None = None
        self._folder_note: Note | None = None
        self._process_note: Note | None = None

    def apart(self, sweeps: bool) -> _SharedProcesses:
        return _SharedProcesses(None if self._own else self._folder, sweeps=sweeps)

    def new_file(self, token: str) -> Path:
        if self._folder is None:
            self._folder, self._own = Path(tempfile.gettempdir(), f"pegboard-output-{secrets.token_hex(8)}"), True
            self._folder_note = note("folder", str(self._folder))
        with suppress(OSError):  # The sink finds out whether the file can be created, and reports it.
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder / f"output-{token}.txt"

    def note_processes(self) -> None:
        """Write down that this host has processes, before the first one starts."""
        if self._process_note is None:
            self._process_note = note("processes")
            atexit.register(self.remove)  # for those who only ever `run`

    def forget(self, child: Child) -> None:
        self.live.pop(child, None)

    def sweep(self) -> None:
        """Look after one finished process a start: a search of /proc for each would make many of them expensive."""
        child = next((child for child in self.live if child.finished), None)
        if child:
            self.live[child] = self.live.pop(child)  # it goes to the end of the line
            child.sweep()

    def remove(self) -> None:
        if self._own and self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder, self._own = None, False
        if self._folder_note:
            self._folder_note.done()
            self._folder_note = None
        if self._process_note and not self.live:
            self._process_note.done()
            self._process_note = None
            atexit.unregister(self.remove)


async def _tidy_up() -> None:
    await anyio.to_thread.run_sync(tidy_up, abandon_on_cancel=True)
