"""Create, show, change and list tasks."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pegboard import Context, Input, Tool, ToolError
from pegboard_session import announce
from pegboard_todo.task import Status, Task
from pegboard_todo.task_list import LONGEST_ID, SERVICE, Tasks
from pegboard_todo.wording import lines, terminal_list

MOST_METADATA = 10_000

Subject = Annotated[str, Field(min_length=1, max_length=500)]
Description = Annotated[str, Field(max_length=20_000)]
Words = Annotated[str, Field(max_length=500)]
TaskId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]


class TaskInput(Input):
    """The names of the public interface are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class TaskView(BaseModel):
    """What programs get."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


def tasks_of(ctx: Context) -> Tasks:
    """The tasks of this session."""
    found = ctx.services.others.get(SERVICE)
    if not isinstance(found, Tasks):
        raise ToolError("There is no task list, because this call is not part of a session.", code="unsupported")
    return found


async def refusal(event: str, task: Task, ctx: Context) -> str:
    """Why a plugin does not want this to happen to a task; empty if none objects."""
    about = {"task_id": task.id, "task_subject": task.subject, "task_description": task.description}
    return (await announce(event, about, ctx)).block


class TaskCreateInput(TaskInput):
    subject: Subject
    """What to do, in a few words."""
    description: Description = ""
    """What the task involves, and how to tell that it is done."""
    active_form: Words = ""
    """What to show while the task is in progress, such as "Running the tests"."""
    metadata: dict[str, Any] | None = None
    """Anything else to keep with the task."""


class TaskCreate(Tool[TaskCreateInput, Task]):
    """Add a task to this session's task list.

    Use it to plan work of three steps or more. Begin each task with TaskUpdate (in_progress), and complete it as soon
    as it is done.
    """

    read_only = True
    open_world = False
    search_hint = "todo plan add task list"

    def validate_input(self, args: TaskCreateInput, /) -> str | None:
        return refuse_metadata(args.metadata)

    async def call(self, args: TaskCreateInput, ctx: Context, /) -> Task:
        tasks = tasks_of(ctx)
        task = tasks.add(**args.model_dump(exclude_none=True))
        if why := await refusal("TaskCreated", task, ctx):
            tasks.remove(task.id)
            raise ToolError(f"The task was not created. {why}", code="permission_denied", remedy="")
        return task

    def content(self, value: Task, /) -> str:
        return f"Created task {value.id}: {value.subject}"

    def describe(self, args: TaskCreateInput, /) -> str:
        return f"Add the task: {args.subject}"

    def render_result(self, value: Task, /) -> object | None:
        return terminal_list([value])


class TaskGetInput(TaskInput):
    task_id: TaskId
    """The id of the task."""


class TaskDetails(TaskView):
    task: Task
    blocks: list[str]


class TaskGet(Tool[TaskGetInput, TaskDetails]):
    """Show one task of the task list in full."""

    read_only = True
    open_world = False
    concurrency_safe = True
    search_hint = "show task details todo"

    async def call(self, args: TaskGetInput, ctx: Context, /) -> TaskDetails:
        tasks = tasks_of(ctx)
        task = tasks.get(args.task_id)
        return TaskDetails(task=task.model_copy(deep=True), blocks=tasks.blocks(task.id))

    def content(self, value: TaskDetails, /) -> str:
        task = value.task
        rows = {
            "status": task.status,
            "owner": task.owner,
            "blocked by": ", ".join(task.blocked_by),
            "blocks": ", ".join(value.blocks),
            "metadata": json.dumps(task.metadata) if task.metadata else "",
        }
        head = [f"Task {task.id}: {task.subject}", *(f"{name}: {words}" for name, words in rows.items() if words)]
        return "\n".join([*head, *([task.description] if task.description else [])])

    def describe(self, args: TaskGetInput, /) -> str:
        return f"Show task {args.task_id}"


class TaskUpdateInput(TaskInput):
    task_id: TaskId
    """The id of the task."""
    status: Status | Literal["deleted"] | None = None
    """Its new status; `deleted` removes it."""
    subject: Subject | None = None
    """Another subject."""
    description: Description | None = None
    """Another description."""
    active_form: Words | None = None
    """A new text to show while the task is in progress."""
    owner: Words | None = None
    """Who is working on it."""
    add_blocks: list[TaskId] = Field(default_factory=list, max_length=100)
    """Tasks that must wait for this one."""
    add_blocked_by: list[TaskId] = Field(default_factory=list, max_length=100)
    """Tasks that this one must wait for."""
    metadata: dict[str, Any] | None = None
    """Metadata to add to the task; null removes a key."""


class TaskUpdated(TaskView):
    task: Task
    updated_fields: list[str]
    was: Status
    """The status before."""
    is_deleted: bool = False
    waits_for: list[str] = Field(default_factory=list)


class TaskUpdate(Tool[TaskUpdateInput, TaskUpdated]):
    """Change a task in the task list: its status, text, owner or what it waits for; or delete it.

    Set one task to in_progress when you begin it, and to completed only when it is fully done.
    """

    read_only = True
    open_world = False
    search_hint = "complete change task status todo done"

    def validate_input(self, args: TaskUpdateInput, /) -> str | None:
        if not args.model_fields_set - {"task_id"}:
            return "there is nothing to change. Give at least one field besides taskId."
        return refuse_metadata(args.metadata)

    async def call(self, args: TaskUpdateInput, ctx: Context, /) -> TaskUpdated:
        tasks = tasks_of(ctx)
        task = tasks.get(args.task_id)
        was = task.status
        if args.status == "deleted":
            tasks.remove(task.id)
            return TaskUpdated(task=task, updated_fields=["status"], was=was, is_deleted=True)
        if args.status == "completed" and was != "completed" and (why := await refusal("TaskCompleted", task, ctx)):
            raise ToolError(f"Task {task.id} was not completed. {why}", code="permission_denied", remedy="")
        tasks.get(task.id)  # Another agent may have deleted it while a hook was asked.
        metadata = _merged(task, args)
        before = task.model_copy(deep=True)
        links = {key: list(tasks.get(key).blocked_by) for key in (*args.add_blocks, *args.add_blocked_by)}
        try:
            for key in args.add_blocks:
                tasks.link(task.id, key)
            for key in args.add_blocked_by:
                tasks.link(key, task.id)
        except ToolError:  # All or nothing.
            task.blocked_by = before.blocked_by
            for key, kept in links.items():
                tasks.get(key).blocked_by = kept
            raise
        _set_fields(task, args)
        task.metadata = metadata
        tasks.changed()
        changed = sorted(args.model_fields_set - {"task_id"})
        waits_for = tasks.waits_for(task) if task.status == "in_progress" else []
        return TaskUpdated(task=task.model_copy(deep=True), updated_fields=changed, was=was, waits_for=waits_for)

    def content(self, value: TaskUpdated, /) -> str:
        task = value.task
        if value.is_deleted:
            return f"Deleted task {task.id}: {task.subject}"
        status = f"{value.was} -> {task.status}" if value.was != task.status else task.status
        note = f"\n(It waits for {', '.join(value.waits_for)}, not completed yet.)" if value.waits_for else ""
        return f"Updated task {task.id}: {task.subject} ({status}){note}"

    def describe(self, args: TaskUpdateInput, /) -> str:
        return f"Set task {args.task_id} to {args.status}" if args.status else f"Change task {args.task_id}"

    def render_result(self, value: TaskUpdated, /) -> object | None:
        return None if value.is_deleted else terminal_list([value.task])


def _set_fields(task: Task, args: TaskUpdateInput) -> None:
    for name in ("subject", "description", "active_form", "owner", "status"):
        if (value := getattr(args, name)) is not None:
            setattr(task, name, value)


def _merged(task: Task, args: TaskUpdateInput) -> dict[str, Any]:
    """The metadata of a task after a change. It has a limit: each change keeps the whole list again."""
    merged = task.metadata | (args.metadata or {})
    merged = {key: value for key, value in merged.items() if value is not None}
    if args.metadata and (problem := refuse_metadata(merged)):
        reason = f"With what task {task.id} has already, {problem}"
        raise ToolError(f"{reason} Nothing was changed. Remove keys by setting them to null.", code="too_large")
    return merged


class TaskListInput(TaskInput):
    pass


class TaskRows(TaskView):
    tasks: list[Task]
    shown: str
    """As the model reads them."""


class TaskList(Tool[TaskListInput, TaskRows]):
    """List all tasks of this session with their status, owner and what they wait for."""

    read_only = True
    open_world = False
    concurrency_safe = True
    search_hint = "show all tasks todo list"

    async def call(self, args: TaskListInput, ctx: Context, /) -> TaskRows:
        tasks = tasks_of(ctx)
        every = [task.model_copy(deep=True) for task in tasks.all()]
        return TaskRows(tasks=every, shown=lines(every, tasks) or "There are no tasks.")

    def content(self, value: TaskRows, /) -> str:
        return value.shown

    def describe(self, args: TaskListInput, /) -> str:
        return "List the tasks"

    def render_result(self, value: TaskRows, /) -> object | None:
        return terminal_list(value.tasks)


def refuse_metadata(metadata: dict[str, Any] | None) -> str | None:
    """What is wrong with metadata, as a sentence."""
    if metadata and len(json.dumps(metadata)) > MOST_METADATA:
        return f"metadata is longer than {MOST_METADATA:,} characters."
    return None
