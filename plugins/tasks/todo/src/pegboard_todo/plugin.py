"""The hooks: a list for each session, and a reminder of what is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Context, Tool, hookimpl
from pegboard_todo.task_list import SERVICE, Tasks
from pegboard_todo.wording import lines

if TYPE_CHECKING:
    from pegboard_session import Session

LINE = "tasks"
"""The type of our lines in the transcript."""

NAMES = ("TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "TodoWrite")
PLAN_ALONE = ("claude-opus-4-8*", "claude-opus-5*", "claude-sonnet-5*", "claude-fable-5*", "claude-mythos-5*")
"""Models that plan well without a list: the tools would only cost them tokens."""


class _Reminder:
    """When the model was last told about open tasks."""

    def __init__(self) -> None:
        self.seen, self.messages = -1, 0


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    # Every session loads these hooks, and few use the tools.
    from pegboard_todo.task_tools import TaskCreate, TaskGet, TaskList, TaskUpdate
    from pegboard_todo.todo_write import TodoWrite

    return [TaskCreate(), TaskGet(), TaskUpdate(), TaskList(), TodoWrite()]


@hookimpl
def register_models() -> dict[str, dict[str, Any]]:
    return {name: {"tools": {"hide": list(NAMES)}} for name in PLAN_ALONE}


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    """One list for a session and all its sub-agents."""
    if session.parent:
        above = session.parent.ctx.services.others
        return {name: above[name] for name in (SERVICE, _REMINDER) if name in above}
    tasks = Tasks(lambda rows, next_id: session.write(LINE, tasks=rows, next=next_id))
    kept = [line for line in session.restored.lines if line["type"] == LINE]
    if kept and isinstance(kept[-1].get("tasks"), list):
        tasks.load(kept[-1]["tasks"], kept[-1].get("next"))
    return {SERVICE: tasks, _REMINDER: _Reminder()}


_REMINDER = "tasks.reminder"


@hookimpl
def add_reminders(session: Session, moment: str) -> str | None:
    """Open tasks, after a while in which the list did not change."""
    tasks, reminder = (session.ctx.services.others.get(name) for name in (SERVICE, _REMINDER))
    if session.parent or not isinstance(tasks, Tasks) or not isinstance(reminder, _Reminder):
        return None
    if reminder.seen != tasks.changes:
        reminder.seen, reminder.messages = tasks.changes, 0
    reminder.messages += 1
    if reminder.messages <= session.ctx.settings.get("todo.remindAfter") or not tasks.open():
        return None
    reminder.messages = 0
    still = lines(tasks.open(), tasks)
    return f"The task list has not changed for a while. If it is out of date, update it. These tasks are open:\n{still}"


@hookimpl
def after_compact(ctx: Context) -> str | None:
    """The results that showed the list are no longer in the conversation."""
    tasks = ctx.services.others.get(SERVICE)
    if not isinstance(tasks, Tasks) or not tasks.all():
        return None
    return f"The task list of this session:\n{lines(tasks.all(), tasks)}"
