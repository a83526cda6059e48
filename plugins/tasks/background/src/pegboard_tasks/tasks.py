"""Inspect and stop background tasks."""

from __future__ import annotations

import re
from typing import Annotated

import anyio
from pydantic import BaseModel, Field

from pegboard import Context, Input, Tool, ToolError, hookimpl
from pegboard.wording import counted
from pegboard_files import plain_text
from pegboard_processes import Task

PAGE_BYTES = 30_000
LONGEST_WAIT_MS = 600_000
UNFINISHED = re.compile(r"(?:\r|\x1b(?:\[[0-?]{0,32}[ -/]{0,4}|\][^\x07\x1b]{0,256})?)\Z")


class TaskOutputInput(Input):
    task_id: str | None = None
    """The task. Without it, all tasks are listed."""
    offset: Annotated[int, Field(ge=0)] | None = None
    """The byte to read from; each result gives the offset for the next read."""
    wait_ms: Annotated[int, Field(ge=0, le=LONGEST_WAIT_MS)] | None = None
    """Wait up to this many milliseconds for the task to end before reading."""


class TaskRow(BaseModel):
    id: str
    name: str
    state: str
    error: str = ""
    path: str | None = None
    tty: bool = False
    """Whether it runs on a terminal and takes input: Bash with task_id types into it."""


class TaskOutputOutput(BaseModel):
    tasks: list[TaskRow]
    text: str | None = None
    next_offset: int | None = None
    size: int | None = None


class TaskOutput(Tool[TaskOutputInput, TaskOutputOutput]):
    """Read what a background task has written so far, or list all tasks when no task_id is given.

    Colours and other terminal codes are left out. Continue from next_offset to see only what is new.
    """

    aliases = ("BashOutput",)
    read_only = True
    concurrency_safe = True
    open_world = False
    search_hint = "background task output list read"

    async def call(self, args: TaskOutputInput, ctx: Context, /) -> TaskOutputOutput:
        if args.task_id is None:
            return TaskOutputOutput(tasks=[_row(task) for task in ctx.background.tasks()])
        task = _find(args.task_id, ctx)
        if args.wait_ms:
            with anyio.move_on_after(args.wait_ms / 1000):
                await ctx.background.wait(task.id)
        task = _find(args.task_id, ctx)
        if task.output is None:
            text = task.error if task.error else "" if task.value is None else str(task.value)
            return TaskOutputOutput(tasks=[_row(task)], text=text)
        page = ctx.background.read(task.id, args.offset or 0, PAGE_BYTES)
        held = _unfinished(page.text) if task.state == "running" or page.next_offset < page.size else ""
        text, offset = plain_text(page.text.removesuffix(held)), page.next_offset - len(held.encode())
        return TaskOutputOutput(tasks=[_row(task)], text=text, next_offset=offset, size=page.size)

    def content(self, value: TaskOutputOutput, /) -> str:
        if value.text is None:
            lines = [f"{row.id}  {row.state}  {row.name}{'  (terminal)' if row.tty else ''}" for row in value.tasks]
            return "\n".join(lines) or "There are no background tasks."
        [row] = value.tasks
        head = f"{row.id} is {row.state}. {row.error}".strip()
        if value.next_offset is None:
            return f"{head}\n{value.text}".rstrip()
        left = (value.size or 0) - value.next_offset
        more = f" {counted(left, 'byte')} left to read." if left > 0 else ""
        return f"{head}\n{value.text}\n(next_offset={value.next_offset}.{more})"


class TaskStopInput(Input):
    task_id: str
    """The task to stop."""


class TaskStop(Tool[TaskStopInput, TaskRow]):
    """Stop a background task and everything it started."""

    aliases = ("KillShell",)
    open_world = False
    search_hint = "stop kill end background task"

    async def call(self, args: TaskStopInput, ctx: Context, /) -> TaskRow:
        task = _find(args.task_id, ctx)
        if task.state != "running":
            raise ToolError(f"{task.id} is not running: it is {task.state}.", code="no_match")
        return _row(await ctx.background.stop(task.id))

    def content(self, value: TaskRow, /) -> str:
        return f"{value.id} ({value.name}) is {value.state}."

    def describe(self, args: TaskStopInput, /) -> str:
        return f"Stop the background task {args.task_id}"


def _row(task: Task) -> TaskRow:
    path = str(task.output) if task.output else None
    return TaskRow(id=task.id, name=task.name, state=task.state, error=task.error, path=path, tty=task.tty)


def _unfinished(text: str) -> str:
    """What may be the beginning of an escape sequence or of a line end: it is read with the rest of it."""
    found = UNFINISHED.search(text)
    return found[0] if found else ""


def _find(task_id: str, ctx: Context) -> Task:
    task = ctx.background.get(task_id)
    if task is None:
        known = ", ".join(task.id for task in ctx.background.tasks()) or "none"
        raise ToolError(f"There is no task {task_id!r}. Known tasks: {known}.", code="not_found")
    return task


@hookimpl
def register_tools() -> list[Tool[TaskOutputInput, TaskOutputOutput] | Tool[TaskStopInput, TaskRow]]:
    return [TaskOutput(), TaskStop()]
