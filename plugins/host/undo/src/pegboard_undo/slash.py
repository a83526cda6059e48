"""`/undo` in a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from pegboard import PegboardError
from pegboard.wording import counted
from pegboard_session import SlashCommand, SlashConfirm
from pegboard_undo import restore as restoring
from pegboard_undo.journal import UNDONE, Journal
from pegboard_undo.plan import Plan, as_text, make_plan, refusal_of
from pegboard_undo.plugin import SERVICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_session import Session

USAGE = "Write /undo for the last turn, or /undo TURN for all from that turn on. With yes at the end you are not asked."

LONGEST = 10
"""Digits that no number of a turn has."""


def commands(session: Session) -> Sequence[SlashCommand]:
    """The command."""
    return [SlashCommand("undo", "restore the files that the last turn changed", undo, "[TURN] [yes]", complete)]


def complete(session: Session, typed: str) -> list[str]:
    """What may follow."""
    return ["yes"]


async def undo(session: Session, arguments: str) -> str | SlashConfirm:
    """List what would be restored, ask, and restore it."""
    words = arguments.split()
    is_agreed = words[-1:] == ["yes"]
    numbers = words[:-1] if is_agreed else words
    if len(numbers) > 1 or not all(number.isdecimal() and len(number) < LONGEST for number in numbers):
        return USAGE
    if session.is_running:
        return "The model is working. Interrupt it first."
    still = await _still_at_work(session)
    try:
        plan = await to_thread.run_sync(make_plan, session.restored.lines, int(numbers[0]) if numbers else None)
    except PegboardError as error:
        return str(error)
    listed = f"{as_text(plan)}\n{still}".strip()
    if not plan.steps:
        return f"{listed}\nThere is nothing to undo.".strip()
    if refusal := refusal_of(plan):
        return f"{listed}\n{refusal}"
    if is_agreed:
        return await _restore(session, plan)
    files = counted(len(plan.steps), "file")
    agree = f"To restore {files}, write /undo {plan.to} yes."
    before = f"Back to before turn {plan.to}:\n{listed}"
    return SlashConfirm(before, f"Restore {files}?", lambda: _restore(session, plan), agree)


async def _still_at_work(session: Session) -> str:
    """What is not in the plan, because a command in the background has not ended."""
    journal = session.ctx.services.others.get(SERVICE)
    if not isinstance(journal, Journal):
        return ""
    await to_thread.run_sync(journal.settle)
    running = counted(journal.going_on, "command") + " in the background"
    return f"not covered yet: what {running} may change; it is noted at the end." if journal.going_on else ""


async def _restore(session: Session, plan: Plan) -> str:
    try:
        await to_thread.run_sync(restoring.require_same, plan, session.restored.lines)
        told = await to_thread.run_sync(restoring.restore, plan, session.ctx.files)
    except PegboardError as error:
        return str(error)
    session.write(UNDONE, to=plan.to)
    session.conversation.add_news(told)  # Without an event: the person knows what they have asked for.
    session.write("news", text=told)
    return f"Restored {counted(len(plan.steps), 'file')}: {', '.join(str(step.path) for step in plan.steps)}."
