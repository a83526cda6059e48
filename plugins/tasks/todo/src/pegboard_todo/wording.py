"""Tasks as lines, for the model and for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pegboard_todo.task_list import MARKS, Tasks

if TYPE_CHECKING:
    from pegboard_todo.task import Task

STYLES = {"pending": "", "in_progress": "bold", "completed": "dim strike"}


def line(task: Task, tasks: Tasks | None = None) -> str:
    """A task in one line."""
    words = f"{MARKS[task.status]} {task.id}. {task.subject}"
    if task.owner:
        words += f" (owner: {task.owner})"
    if tasks and task.status != "completed" and (before := tasks.waits_for(task)):
        words += f" (waits for {', '.join(before)})"
    return words


def lines(tasks: Iterable[Task], whole: Tasks | None = None) -> str:
    """Tasks, one in a line."""
    return "\n".join(line(task, whole) for task in tasks)


def terminal_list(tasks: Iterable[Task]) -> object | None:
    """The list for a terminal; None where `rich` is not installed."""
    try:
        from rich.text import Text  # Only a terminal needs it, and not every host has it.
    except ImportError:
        return None
    shown = Text()
    for number, task in enumerate(tasks):
        doing = task.active_form if task.status == "in_progress" and task.active_form else task.subject
        shown.append("\n" if number else "")
        shown.append(f"{MARKS[task.status]} {doing}", style=STYLES[task.status])
    return shown
