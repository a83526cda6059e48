"""The hooks: schedules for each session, an alarm that ends a sleep, and prompts that are due between turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Context, Settings, Tool, hookimpl

if TYPE_CHECKING:
    from pegboard_schedule.schedules import Schedules
    from pegboard_session import Session

# Imports happen inside functions: every session loads these hooks, and reading cron expressions takes 30 ms to import.

LINE = "schedules"
"""The type of our lines in the transcript."""
SERVICE, ALARM = "schedules", "alarm"


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    from pegboard_schedule.cron_tools import CronCreate, CronDelete, CronList
    from pegboard_schedule.sleep import Sleep

    return [Sleep(), CronCreate(), CronList(), CronDelete()]


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    """Schedules belong to the person's own session; an alarm also to each sub-agent."""
    from pegboard_schedule.alarm import Alarm

    if session.parent:
        return {ALARM: Alarm(session, None)}
    schedules = _schedules_of(session)
    return {SERVICE: schedules, ALARM: Alarm(session, schedules)}


@hookimpl
def add_reminders(session: Session) -> list[str]:
    """Prompts that became due while the model worked, or while no one could run them."""
    schedules = None if session.parent else session.ctx.services.others.get(SERVICE)
    found: list[str] = []
    while schedules is not None and (text := schedules.take_due()) is not None:  # type: ignore[attr-defined]
        found.append(f"A schedule is due. Do what it says, then go on.\n\n{text}")
    return found


@hookimpl
def after_compact(ctx: Context) -> str | None:
    """The results that named the schedules are no longer in the conversation."""
    schedules = ctx.services.others.get(SERVICE)
    own = [] if ctx.agent.depth or schedules is None else schedules.own()  # type: ignore[attr-defined]
    if not own:
        return None
    from pegboard_schedule.cron_tools import CronRow

    return "The schedules of this session:\n" + "\n".join(CronRow.of(found).line for found in own)


def _schedules_of(session: Session) -> Schedules:
    from pegboard_schedule.durable import DurableSchedules
    from pegboard_schedule.schedules import Schedules

    settings = session.board.settings
    schedules = Schedules(
        limits=_limits(settings),
        durable=DurableSchedules.of(settings.root),
        keep=lambda rows: session.write(LINE, schedules=rows),
    )
    kept = [line for line in session.restored.lines if line["type"] == LINE]
    if kept and isinstance(kept[-1].get("schedules"), list):
        schedules.load(kept[-1]["schedules"])
    return schedules


def _limits(settings: Settings) -> Any:
    from datetime import timedelta

    from pegboard_schedule.schedules import Limits

    return Limits(
        most=settings.get("schedule.most"),
        lives=timedelta(days=settings.get("schedule.expiryDays")),
        most_late=max(settings.get("schedule.maxJitterSeconds"), 0),
        timezone=settings.get("schedule.timezone", ""),
    )
