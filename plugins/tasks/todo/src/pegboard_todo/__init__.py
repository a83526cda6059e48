"""The task list of a session. `ctx.service("tasks")` is its `Tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_todo.plugin import (
    add_reminders,
    after_compact,
    register_models,
    register_session_services,
    register_tools,
)
from pegboard_todo.task_list import Tasks

if TYPE_CHECKING:
    from pegboard_todo.task import Task

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # A task loads on use: a session without tasks starts without pydantic.
    from pegboard_todo import task

    return getattr(task, name)
