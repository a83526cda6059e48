"""The hooks: memory files before a prompt, and those of a folder when a file in it is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pegboard import Context, hookimpl
from pegboard_memory.memory import Memory
from pegboard_session.reminders import as_reminder

if TYPE_CHECKING:
    from pegboard_session import Session

SERVICE = "memory"


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    return {SERVICE: Memory(session)}


@hookimpl
def add_reminders(session: Session, moment: str) -> list[str]:
    memory = session.ctx.services.others.get(SERVICE)
    return memory.news(moment) if isinstance(memory, Memory) else []


@hookimpl
def after_compact(ctx: Context) -> str:
    """What was shown is no longer in the conversation, so it is shown again."""
    memory = ctx.services.others.get(SERVICE)
    if not isinstance(memory, Memory):
        return ""
    memory.forget()
    return "\n".join(as_reminder(words) for words in memory.news("prompt"))


@hookimpl
def after_call(ctx: Context) -> None:
    """Remember which files a call was approved to touch."""
    memory = ctx.services.others.get(SERVICE)
    if isinstance(memory, Memory):
        for path in ctx.approved_paths or ():
            if os.path.isfile(path):
                memory.visit(path)
