"""Start processes so that they can be told apart, listened to, and ended with everything they started."""

from __future__ import annotations

import atexit
import copy
import os
import secrets
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from pegboard.errors import ToolError
from pegboard.host.child import Child, spawn
from pegboard.host.environment import scrubbed
from pegboard.host.groups import leave
from pegboard.host.orphans import end_orphans, mark
from pegboard.host.reaper import GRACE, MARKER
from pegboard.host.streams import Sink
from pegboard.services import OnBytes, ProcessExit, ProcessSpec

Wrap = Callable[[ProcessSpec], Awaitable[ProcessSpec]]


class LocalProcesses:
    """Processes on this machine.

    `run` can be used at once. `start` needs somebody who listens between calls: enter the service with `async with`;
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
        self._shared = _Shared(folder)

    def wrapped_by(self, wrap: Wrap) -> LocalProcesses:
        """The same service for another context: what is started here goes through `wrap`."""
        view = copy.copy(self)
        view._wrap = wrap
        return view

    def apart(self, *, sweeps: bool = False) -> LocalProcesses:
        """A service of the same kind with its own life: what is started here ends with it and with nothing else.

        One that sweeps begins by ending what a killed host has left behind.
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
            raise RuntimeError("This process service is not open. Use it inside `async with`, or call run() instead.")
        child = await self._spawn(spec, on_output, on_error)
        tasks.start_soon(child.watch)
        return child

    async def run(
        self, spec: ProcessSpec, *, on_output: OnBytes | None = None, on_error: OnBytes | None = None
    ) -> ProcessExit:
        """Start a process, wait for it and leave nothing of it behind."""
        child = await self._spawn(spec, on_output, on_error)
        return await child.watch(leave_nothing=True)

    async def _spawn(self, spec: ProcessSpec, on_output: OnBytes | None, on_error: OnBytes | None) -> Child:
        spec = replace(spec, env={**self._env, **spec.env})
        if self._wrap:
            spec = await self._wrap(spec)
        try:
            child = self._begin(spec, on_output, on_error)
        except BaseException:
            if spec.on_end:
                spec.on_end()
            raise
        if spec.on_end:
            child.on_ended = spec.on_end
        return child

    def _begin(self, spec: ProcessSpec, on_output: OnBytes | None, on_error: OnBytes | None) -> Child:
        if not spec.argv:
            raise ToolError("There is nothing to start: the command is empty.")
        # Also the marks of a host around this one: whoever ends that host ends our processes too.
        token = secrets.token_hex(12)
        spec = replace(spec, env={**spec.env, MARKER: mark(token)})
        sink = Sink(self._shared.new_file(token) if spec.keep_output else None, spec.max_output_bytes)
        self._shared.sweep()
        child = spawn(spec, token, sink, self._grace, on_output, on_error)
        self._shared.live[child] = None
        child.on_reaped = self._shared.forget
        return child

    async def __aenter__(self) -> LocalProcesses:
        self._shared.tasks = await anyio.create_task_group().__aenter__()
        if self._shared.sweeps:
            self._shared.tasks.start_soon(end_orphans)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, self._shared.tasks = self._shared.tasks, None
        if tasks is None:
            return
        try:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as enders:
                    for child in list(self._shared.live):
                        enders.start_soon(child.kill)
        finally:
            self._shared.remove()
            await leave(tasks, error)


class _Shared:
    """What all views of one service share."""

    def __init__(self, folder: Path | None, *, sweeps: bool = False) -> None:
        self._folder, self._own, self.sweeps = folder, False, sweeps
        self.live: dict[Child, None] = {}
        self.tasks: TaskGroup | None = None

    def apart(self, sweeps: bool) -> _Shared:
        return _Shared(None if self._own else self._folder, sweeps=sweeps)

    def new_file(self, token: str) -> Path:
        if self._folder is None:
            self._folder, self._own = Path(tempfile.mkdtemp(prefix="pegboard-output-")), True
            atexit.register(self.remove)  # for those who only ever `run`
        with suppress(OSError):  # whether the file can be made is found out, and said, by the sink
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder / f"output-{token}.txt"

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
            atexit.unregister(self.remove)
            self._folder, self._own = None, False
