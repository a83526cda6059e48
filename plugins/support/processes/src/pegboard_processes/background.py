"""Work that continues after the call that started it, and ends with the session at the latest."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import anyio
import anyio.from_thread
from anyio.abc import TaskGroup

from pegboard import ToolError
from pegboard_processes.groups import leave
from pegboard_processes.interface import Process, Task, TaskText

Work = Callable[[], Awaitable[object]]

log = logging.getLogger("pegboard")


class LocalBackground:
    """Background work on the host's event loop. Use it inside `async with`: on leaving, all work is stopped."""

    def __init__(
        self, on_end: Callable[[Task], None] | None = None, on_stop: Callable[[Task], None] | None = None
    ) -> None:
        """Tell `on_end` about each piece of work once, when it has ended, however it ended.

        `on_stop` is called first for work that is stopped, as opposed to work that ends with the session.
        """
        self._on_end, self._on_stop = on_end, on_stop
        self._jobs: dict[str, _RunningTask] = {}
        self._group: TaskGroup | None = None
        self._thread = 0

    def start(
        self,
        name: str,
        work: Work,
        *,
        output: Path | None = None,
        command: str = "",
        process: Process | None = None,
    ) -> Task:
        """Start work and return at once; from a worker thread too. `process` is one on a terminal."""
        if self._group is None:
            raise RuntimeError("This background service is not open. Use it inside `async with`.")
        # Not a counter: a resumed conversation still mentions the tasks of the last one.
        known = Task(f"task-{secrets.token_hex(3)}", name, "running", output, command=command, tty=process is not None)
        if threading.get_ident() != self._thread:
            return anyio.from_thread.run_sync(self._start, self._group, known, work, process)
        return self._start(self._group, known, work, process)

    def _start(self, group: TaskGroup, task: Task, work: Work, process: Process | None) -> Task:
        job = _RunningTask(task, process)
        self._jobs[job.task.id] = job
        group.start_soon(self._follow, job, work)
        return job.task

    async def _follow(self, job: _RunningTask, work: Work) -> None:
        state, value, error = "stopped", None, ""
        try:
            with job.scope:
                value = await work()
                state = "done"
        except (Exception, SystemExit) as failure:
            log.warning("the background task %r failed", job.task.name, exc_info=failure)
            state, error = "failed", _reason(failure)
        finally:
            job.task = replace(job.task, state=state, value=value, error=error)
            job.ended.set()
            self._announce(job.task)

    def _announce(self, task: Task) -> None:
        if self._on_end:
            try:
                self._on_end(task)
            except Exception:
                log.exception("a listener for the end of a background task failed")

    def remember(self, task: Task) -> None:
        """List work of an earlier process that has ended, so that its output can still be read."""
        self._jobs[task.id] = job = _RunningTask(task)
        job.ended.set()

    def tasks(self) -> list[Task]:
        """All work of this session, newest last."""
        return [job.task for job in self._jobs.values()]

    def get(self, task_id: str) -> Task | None:
        """One piece of work by its id."""
        job = self._jobs.get(task_id)
        return job.task if job else None

    def read(self, task_id: str, offset: int = 0, limit: int = 30_000) -> TaskText:
        """Up to `limit` bytes of output from a byte offset, never cut inside a character."""
        task = self._find(task_id).task
        if task.output is None:
            return TaskText("", 0, 0)
        try:
            with task.output.open("rb") as file:
                size = file.seek(0, 2)
                offset = min(max(offset, 0), size)
                file.seek(offset)
                data = file.read(max(limit, 4))
        except FileNotFoundError:
            return TaskText("", 0, 0)
        if task.state == "running" or offset + len(data) < size:
            data = data[: whole_characters(data)]
        return TaskText(data.decode("utf-8", "replace"), offset + len(data), size)

    async def send(self, task_id: str, data: bytes) -> int:
        """Type into the terminal of a task that runs."""
        job = self._find(task_id)
        if job.task.state != "running":
            raise ToolError(f"{task_id} is not running: it is {job.task.state}.", code="no_match", remedy="")
        if job.process is None:
            raise ToolError(
                f"{task_id} does not run on a terminal, so it takes no input.", code="unsupported", remedy=""
            )
        return await job.process.send(data)

    async def wait(self, task_id: str) -> Task:
        """Wait for the work to end."""
        job = self._find(task_id)
        await job.ended.wait()
        return job.task

    async def stop(self, task_id: str) -> Task:
        """Cancel the work and wait for it to end. Work that has ended stays as it is."""
        job = self._find(task_id)
        if self._on_stop and job.task.state == "running":
            self._on_stop(job.task)
        job.scope.cancel()
        await job.ended.wait()
        return job.task

    def _find(self, task_id: str) -> _RunningTask:
        job = self._jobs.get(task_id)
        if job is None:
            known = ", ".join(self._jobs) or "none"
            raise ToolError(
                f"There is no background task {task_id!r}. The tasks of this session: {known}.", code="not_found"
            )
        return job

    async def __aenter__(self) -> LocalBackground:
        self._thread = threading.get_ident()
        self._group = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        group, self._group = self._group, None
        if group is not None:
            group.cancel_scope.cancel()
            await leave(group, error)


class _RunningTask:
    def __init__(self, task: Task, process: Process | None = None) -> None:
        self.task, self.process = task, process
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()


def whole_characters(data: bytes) -> int:
    """How many of these bytes are left when a UTF-8 character that has only begun is taken off the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue
        needs = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return len(data) - back if needs > back else len(data)
    return len(data)


def _reason(failure: BaseException) -> str:
    if isinstance(failure, ToolError):
        return failure.message
    return f"It failed with {type(failure).__name__}: {failure}".rstrip(": ") + "."
