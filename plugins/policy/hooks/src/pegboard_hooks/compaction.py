"""PreCompact and PostCompact: around the summary that replaces the older part of a conversation."""

from __future__ import annotations

from collections.abc import Awaitable

from pegboard import Context, hookimpl
from pegboard_hooks.events import fire
from pegboard_hooks.plan import Plan
from pegboard_hooks.verdicts import why_blocked
from pegboard_session import Compacting


@hookimpl
def before_compact(trigger: str, what_to_keep: str, ctx: Context) -> Awaitable[Compacting | None] | None:
    return _before(trigger, what_to_keep, ctx) if Plan.of(ctx).has("PreCompact") else None


async def _before(trigger: str, what_to_keep: str, ctx: Context) -> Compacting | None:
    """Exit 2 and `decision: block` prevent it; what a handler prints is for the model that summarises."""
    answered = await fire("PreCompact", (trigger,), {"trigger": trigger, "custom_instructions": what_to_keep}, ctx)
    if why := why_blocked(answered):
        return Compacting(block=why)
    focus = "\n".join(reply.context for _, reply in answered if reply.context)
    return Compacting(focus=focus) if focus else None


@hookimpl
def after_compact(trigger: str, summary: str, ctx: Context) -> Awaitable[str | None] | None:
    plan = Plan.of(ctx)
    has_start = plan.has("SessionStart") and not ctx.agent.depth
    return _after(trigger, summary, ctx) if has_start or plan.has("PostCompact") else None


async def _after(trigger: str, summary: str, ctx: Context) -> str | None:
    """After PostCompact, SessionStart hooks run with the source `compact`: what they said first is gone by now."""
    await fire("PostCompact", (trigger,), {"trigger": trigger, "compact_summary": summary}, ctx)
    if ctx.agent.depth:
        return None
    answered = await fire("SessionStart", ("compact",), {"source": "compact"}, ctx)
    return "\n".join(reply.context for _, reply in answered if reply.context) or None
