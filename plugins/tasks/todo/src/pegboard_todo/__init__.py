"""The task list of a session. `ctx.service("tasks")` is its `Tasks`."""

from pegboard_todo.plugin import (
    add_reminders,
    after_compact,
    register_models,
    register_session_services,
    register_tools,
)
from pegboard_todo.task_list import Task, Tasks

WARM_UP = ("pegboard_todo.todo_write",)
__all__ = [
    "Task",
    "Tasks",
    "add_reminders",
    "after_compact",
    "register_models",
    "register_session_services",
    "register_tools",
]
