"""The hooks: a model that stops before the task is complete is sent back to work, within a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import Context, Result, Tool, hookimpl

if TYPE_CHECKING:
    from pegboard_session import Session

SETTING = "complete.required"
SERVICE = "complete"
REMINDER = (
    "You stopped without calling task_complete, and no one is here to answer. If the task is done, call task_complete "
    "with a summary. If not, go on with it. If something is missing, decide it yourself and say so in the summary."
)
LAST = " If you stop once more, the run ends as not completed."


class Reminders:
    """How often in a row the model was sent back to work."""

    def __init__(self) -> None:
        self.given = 0


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    from pegboard_complete.task_complete import TaskComplete  # Few sessions have the tool.

    return [TaskComplete()]


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    """Only the session itself is reminded: an agent reports to it."""
    is_on = session.board.settings.get(SETTING) and not session.parent
    return {SERVICE: Reminders()} if is_on else {}


@hookimpl
def submit_prompt(ctx: Context) -> None:
    """A new prompt is a new task."""
    _reset(ctx)


@hookimpl
def after_turn(results: Sequence[Result], ctx: Context) -> None:
    """A model that works has understood; one whose calls all fail has not."""
    if not all(result.is_error for result in results):
        _reset(ctx)


@hookimpl
def before_stop(ctx: Context) -> str | None:
    """Send the model back to work, unless it was sent back too often already."""
    reminders = ctx.services.others.get(SERVICE)
    most = ctx.settings.get("complete.reminders")
    if not isinstance(reminders, Reminders) or reminders.given >= most:
        return None
    reminders.given += 1
    return REMINDER + (LAST if reminders.given == most else "")


def _reset(ctx: Context) -> None:
    reminders = ctx.services.others.get(SERVICE)
    if isinstance(reminders, Reminders):
        reminders.given = 0
