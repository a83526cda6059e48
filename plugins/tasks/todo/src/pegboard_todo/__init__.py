"""The task list of a session. `ctx.service("tasks")` is its `Tasks`."""

from pegboard_todo.plugin import (
    add_reminders,
    after_compact,
    register_models,
    register_session_services,
    register_tools,
)
from pegboard_todo.task_list import Task, Tasks
from pegboard_todo.task_tools import TaskCreate, TaskGet, TaskList, TaskUpdate
from pegboard_todo.todo_write import TodoWrite

__all__ = [
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "Tasks",
    "TodoWrite",
    "add_reminders",
    "after_compact",
    "register_models",
    "register_session_services",
    "register_tools",
]
