"""Events that other plugins announce: tasks, worktrees, memory files, commands as prompts, forms of servers."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from pegboard import Context, hookimpl
from pegboard_hooks.events import Answered, fire
from pegboard_hooks.plan import Plan
from pegboard_hooks.protocol import ANNOUNCED, PREVENTABLE
from pegboard_hooks.verdicts import why_blocked
from pegboard_session import EventAnswer

MATCHED = {
    "UserPromptExpansion": "command_name",
    "InstructionsLoaded": "load_reason",
    "ConfigChange": "source",
    "Elicitation": "mcp_server_name",
    "ElicitationResult": "mcp_server_name",
}
"""The field that a matcher looks at."""
ACTIONS = ("accept", "decline", "cancel")


@hookimpl
def hear_event(event: str, about: Mapping[str, Any], ctx: Context) -> Awaitable[EventAnswer | None] | None:
    return _hear(event, about, ctx) if event in ANNOUNCED and Plan.of(ctx).has(event) else None


async def _hear(event: str, about: Mapping[str, Any], ctx: Context) -> EventAnswer | None:
    names = (str(about.get(MATCHED[event], "")),) if event in MATCHED else ()
    answered = await fire(event, names, about, ctx)
    if not answered:
        return None
    if event == "WorktreeCreate":
        return _worktree(answered)
    block = why_blocked(answered) if event in PREVENTABLE else ""
    if event in ("Elicitation", "ElicitationResult"):
        return _form(answered, block)
    context = "\n".join(reply.context for _, reply in answered if reply.context)
    return EventAnswer(block, context if event == "UserPromptExpansion" else "")


def _worktree(answered: Sequence[Answered]) -> EventAnswer:
    """The path that a handler has printed. One that fails in any way prevents the worktree: half of it may be there."""
    paths: list[str] = []
    for handler, reply in answered:
        if why := reply.block or reply.stop or reply.problem or reply.unclear:
            return EventAnswer(block=f"The WorktreeCreate hook {handler.name!r} failed. {why}")
        said = reply.own.get("worktreePath")
        lines = [said] if isinstance(said, str) else [line for line in reply.context.splitlines() if line.strip()]
        paths += lines[-1:]
    if not paths:
        names = ", ".join(repr(handler.name) for handler, _ in answered)
        return EventAnswer(
            block=f"The WorktreeCreate hook {names} printed no path. It must print the folder that it made."
        )
    return EventAnswer(answer={"path": paths[-1].strip()})


def _form(answered: Sequence[Answered], block: str) -> EventAnswer:
    """What is sent to the server in the person's place: the strictest answer, and never one that was prevented."""
    if block:
        return EventAnswer(block, answer={"action": "decline"})
    said = [reply.own for _, reply in answered if reply.own.get("action") in ACTIONS]
    if not said:
        return EventAnswer()
    chosen = max(said, key=lambda own: ACTIONS.index(own["action"]))
    content = chosen.get("content")
    return EventAnswer(
        answer={"action": chosen["action"], **({"content": content} if isinstance(content, dict) else {})}
    )
