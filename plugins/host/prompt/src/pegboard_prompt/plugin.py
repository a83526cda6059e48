"""The hooks: parts of the system prompt when a session opens, reminders when something has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import Context, hookimpl
from pegboard_prompt.environment import Environment
from pegboard_prompt.instructions import INSTRUCTIONS, given_text
from pegboard_session import PromptPart
from pegboard_session.reminders import as_reminder

if TYPE_CHECKING:
    from pegboard_session import Session

SERVICE = "environment"


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    return {SERVICE: Environment(session)}


@hookimpl
async def system_prompt_parts(session: Session, ctx: Context) -> list[PromptPart]:
    settings = session.board.settings
    parts = [PromptPart("instructions", given_text(settings, "systemPrompt") or INSTRUCTIONS, 10)]
    if session.parent is None:
        parts.append(PromptPart("appended", given_text(settings, "appendSystemPrompt"), 70))
    environment = session.ctx.services.others.get(SERVICE)
    if isinstance(environment, Environment):
        parts.append(PromptPart("environment", await environment.text(ctx), 90, keep=True))
    return parts


@hookimpl
def after_compact(ctx: Context) -> str:
    """Changes that were told are no longer in the conversation."""
    environment = ctx.services.others.get(SERVICE)
    return as_reminder(environment.now()) if isinstance(environment, Environment) else ""


@hookimpl
def add_reminders(session: Session, moment: str) -> str:
    environment = session.ctx.services.others.get(SERVICE)
    return environment.changes(moment) if isinstance(environment, Environment) else ""
