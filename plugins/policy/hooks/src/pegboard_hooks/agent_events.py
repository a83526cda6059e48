"""SubagentStart and SubagentStop: a sub-agent begins to work, and would hand back its report."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

from pegboard import Context, hookimpl
from pegboard_hooks.events import fire, transcript_of
from pegboard_hooks.handler_run import inside
from pegboard_hooks.plan import Plan
from pegboard_hooks.session_events import stop


@hookimpl
def start_agent(ctx: Context) -> Awaitable[str | None] | None:
    return _start(ctx) if _fires("SubagentStart", ctx) else None


async def _start(ctx: Context) -> str | None:
    answered = await fire("SubagentStart", (ctx.agent.kind,), {}, ctx)
    return "\n".join(reply.context for _, reply in answered if reply.context) or None


@hookimpl
def before_agent_stop(text: str, transcript: Path | None, ctx: Context) -> Awaitable[str | None] | None:
    return _stop(text, transcript, ctx) if _fires("SubagentStop", ctx) else None


async def _stop(text: str, transcript: Path | None, ctx: Context) -> str | None:
    about = {
        "agent_transcript_path": transcript_of(ctx, ctx.agent.id),
        "agent_session_transcript_path": str(transcript or ""),
        "last_assistant_message": text,
    }
    return await stop("SubagentStop", about, ctx)


def _fires(event: str, ctx: Context) -> bool:
    """The agent of a handler is no event for handlers."""
    return Plan.of(ctx).has(event) and not inside.get()
