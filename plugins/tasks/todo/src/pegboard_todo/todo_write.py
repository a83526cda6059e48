"""The whole list at once."""

from __future__ import annotations

from pydantic import Field

from pegboard import Context, Tool
from pegboard.wording import counted
from pegboard_todo.task import Status, Task
from pegboard_todo.task_list import MOST
from pegboard_todo.task_tools import Subject, TaskInput, TaskView, Words, tasks_of
from pegboard_todo.wording import lines, terminal_list


class Todo(TaskInput):
    content: Subject
    """What to do."""
    status: Status
    active_form: Words = ""
    """What to show while it is in progress, such as "Running the tests"."""


class TodoWriteInput(TaskInput):
    todos: list[Todo] = Field(max_length=MOST)
    """The whole list. It replaces the previous one."""


class TodoRows(TaskView):
    old_todos: list[Todo]
    new_todos: list[Todo]
    tasks: list[Task]


class TodoWrite(Tool[TodoWriteInput, TodoRows]):
    """Replace your to-do list. Give the whole list each time, with one item in progress.

    Tasks made with TaskCreate stay as they are.
    """

    read_only = True
    open_world = False
    search_hint = "todo list plan tasks checklist"

    async def call(self, args: TodoWriteInput, ctx: Context, /) -> TodoRows:
        tasks = tasks_of(ctx)
        given = [
            {"subject": todo.content, "status": todo.status, "active_form": todo.active_form} for todo in args.todos
        ]
        old = tasks.replace_written(given)
        before = [Todo(content=task.subject, status=task.status, active_form=task.active_form) for task in old]
        new = [task.model_copy(deep=True) for task in tasks.all() if task.written_by]
        return TodoRows(old_todos=before, new_todos=args.todos, tasks=new)

    def content(self, value: TodoRows, /) -> str:
        if not value.tasks:
            return "The to-do list is now empty."
        done = sum(task.status == "completed" for task in value.tasks)
        return f"The to-do list has {counted(len(value.tasks), 'item')}, {done} completed:\n{lines(value.tasks)}"

    def describe(self, args: TodoWriteInput, /) -> str:
        return f"Write a to-do list with {counted(len(args.todos), 'item')}"

    def render_result(self, value: TodoRows, /) -> object | None:
        return terminal_list(value.tasks)
