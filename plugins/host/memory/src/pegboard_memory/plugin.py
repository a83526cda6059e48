"""The hooks: memory files before a prompt, and those of a folder when a file in it is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pegboard import Context, hookimpl

if TYPE_CHECKING:
    from pegboard_memory.memory import Memory
    from pegboard_session import Session

SERVICE = "memory"


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    from pegboard_memory.memory import Memory  # A call without a session needs none of it.

    return {SERVICE: Memory(session)}


def _memory(ctx: Context) -> Memory | None:
    found = ctx.services.others.get(SERVICE)
    if found is None:
        return None
    from pegboard_memory.memory import Memory  # Only a session has one.

    return found if isinstance(found, Memory) else None


@hookimpl
def add_reminders(session: Session, moment: str) -> list[str]:
    memory = _memory(session.ctx)
    return memory.news(moment) if memory else []


@hookimpl
def after_compact(ctx: Context) -> str:
    """What was shown is no longer in the conversation, so it is shown again."""
    memory = _memory(ctx)
    if memory is None:
        return ""
    from pegboard_session.reminders import as_reminder  # Only long conversations are compacted.

    memory.forget()
    return "\n".join(as_reminder(words) for words in memory.news("prompt"))


@hookimpl
def after_call(ctx: Context) -> None:
    """Remember which files a call was approved to touch."""
    if memory := _memory(ctx):
        for path in ctx.approved_paths or ():
            if os.path.isfile(path):
                memory.visit(path)
