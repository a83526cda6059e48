"""`/undo` in a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from pegboard import PegboardError
from pegboard.wording import counted
from pegboard_session import SlashCommand
from pegboard_undo import restore as restoring
from pegboard_undo.journal import UNDONE
from pegboard_undo.plan import as_text, make_plan, refusal_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_session import Session

USAGE = (
    "Type /undo to list what the last prompt changed, or /undo N for prompt N and later. Add yes to restore the files."
)


def commands(session: Session) -> Sequence[SlashCommand]:
    """The command."""
    return [SlashCommand("undo", "restore the files that the last prompt changed", undo, "[N] [yes]", complete)]


def complete(session: Session, typed: str) -> list[str]:
    """What may follow."""
    return ["yes"]


async def undo(session: Session, arguments: str) -> str:
    """List what would be restored, or restore it."""
    words = arguments.split()
    is_agreed = words[-1:] == ["yes"]
    numbers = words[:-1] if is_agreed else words
    if len(numbers) > 1 or not all(number.isdecimal() for number in numbers):
        return USAGE
    if session.is_running:
        return "The model is working. Interrupt it first."
    try:
        return await _undo(session, int(numbers[0]) if numbers else None, is_agreed=is_agreed)
    except PegboardError as error:
        return str(error)


async def _undo(session: Session, to: int | None, *, is_agreed: bool) -> str:
    plan = await to_thread.run_sync(make_plan, session.restored.lines, to)
    text = as_text(plan)
    if not plan.steps:
        return f"{text}\nThere is nothing to undo.".strip()
    if refusal := refusal_of(plan):
        return f"{text}\n{refusal}"
    if not is_agreed:
        return f"{text}\nTo restore {counted(len(plan.steps), 'file')}, type /undo {plan.to} yes."
    files = session.ctx.files
    told = await to_thread.run_sync(restoring.restore, plan, files)
    session.write(UNDONE, to=plan.to)
    session.conversation.announce(told)
    return f"Restored {counted(len(plan.steps), 'file')}: {', '.join(str(step.path) for step in plan.steps)}."
