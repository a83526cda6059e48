"""The plugin's hooks around a session: it starts, a prompt arrives, turns end, the model stops, it fails, it closes."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import After, Context, ProviderError, Result, hookimpl, jsonable
from pegboard_hooks import verdicts
from pegboard_hooks.events import fire
from pegboard_hooks.plan import Plan
from pegboard_hooks.scoped_hooks import SCOPED, ScopedHooks
from pegboard_hooks.session_state import SERVICE, SessionState, state_of
from pegboard_session import Prompted

if TYPE_CHECKING:
    from pegboard_session import Session

FAILURES = {
    "rate_limit": "rate_limit",
    "overloaded": "overloaded",
    "authentication": "authentication_failed",
    "invalid_request": "invalid_request",
    "server": "server_error",
}
"""The protocol's words for what can go wrong with a model."""

ENDINGS = ("clear", "resume", "prompt_input_exit")
"""Ends of a session that the protocol has a word for; any other end is `other`."""


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    """Remember what the protocol needs; sub-agents share it. Commands read `shell_environment`."""
    scoped: dict[str, object] = {SCOPED: ScopedHooks.of(session)}
    if session.parent is not None:
        return scoped
    state = SessionState(cwd=session.ctx.cwd)
    return {SERVICE: state, "shell_environment": state.environment, **scoped}


@hookimpl
def start_session(source: str, transcript: Path | None, ctx: Context) -> Awaitable[str | None] | None:
    state_of(ctx).transcript = transcript
    return _start(source, ctx) if Plan.of(ctx).has("SessionStart") else None


async def _start(source: str, ctx: Context) -> str | None:
    answered = await fire("SessionStart", (source,), {"source": source}, ctx)
    state_of(ctx).halted = next((reply.stop for _, reply in answered if reply.stop), "")
    return "\n".join(reply.context for _, reply in answered if reply.context) or None


@hookimpl
def submit_prompt(prompt: str, ctx: Context) -> Awaitable[Prompted | None] | Prompted | None:
    state = state_of(ctx)
    state.prompt_id = str(uuid.uuid4())
    state.sent_back.clear()
    if state.halted:
        return Prompted(block=state.halted)
    return _prompt(prompt, ctx) if Plan.of(ctx).has("UserPromptSubmit") else None


async def _prompt(prompt: str, ctx: Context) -> Prompted | None:
    return verdicts.prompted(await fire("UserPromptSubmit", (), {"prompt": prompt}, ctx))


@hookimpl
def after_turn(results: Sequence[Result], ctx: Context) -> Awaitable[After | None] | None:
    plan, state = Plan.of(ctx), state_of(ctx)
    moved = not ctx.agent.depth and state.cwd is not None and state.cwd != ctx.cwd
    if not plan.has("PostToolBatch") and not (moved and plan.has("CwdChanged")):
        return None
    return _after_turn(results, ctx, state.cwd if moved else None)


async def _after_turn(results: Sequence[Result], ctx: Context, left: Path | None) -> After | None:
    if left is not None:
        state_of(ctx).cwd = ctx.cwd
        await fire("CwdChanged", (), {"old_cwd": str(left), "new_cwd": str(ctx.cwd)}, ctx)
    sent = _inputs(ctx)
    calls = [
        {
            "tool_name": result.name,
            "tool_input": sent.get(result.call_id, {}),
            "tool_use_id": result.call_id,
            "tool_response": result.text if result.is_error else jsonable(result.value),
        }
        for result in results
    ]
    return verdicts.batch(await fire("PostToolBatch", (), {"tool_calls": calls}, ctx))


def _inputs(ctx: Context) -> dict[str, Any]:
    """What the model has just sent, by call."""
    conversation = ctx.services.others.get("conversation")
    messages: Sequence[Mapping[str, Any]] = getattr(conversation, "messages", ())
    last = messages[-1]["content"] if messages else ()
    return {block["id"]: block["input"] for block in last if block.get("type") == "tool_use"}


@hookimpl
def before_stop(text: str, ctx: Context) -> Awaitable[str | None] | None:
    return stop("Stop", {"last_assistant_message": text}, ctx) if Plan.of(ctx).has("Stop") else None


async def stop(event: str, about: Mapping[str, Any], ctx: Context) -> str | None:
    """Fire an event at which work can be continued, and remember that it was."""
    state, agent = state_of(ctx), ctx.agent.id
    about = {"stop_hook_active": agent in state.sent_back, **about}
    reason = verdicts.back_to_work(await fire(event, (ctx.agent.kind,), about, ctx))
    if reason is not None:
        state.sent_back.add(agent)
    return reason


@hookimpl
def prompt_failed(error: ProviderError, ctx: Context) -> Awaitable[None] | None:
    return _failed(error, ctx) if Plan.of(ctx).has("StopFailure") and not ctx.agent.depth else None


async def _failed(error: ProviderError, ctx: Context) -> None:
    kind = FAILURES.get(error.kind, "unknown")
    await fire("StopFailure", (kind,), {"error": kind, "error_details": str(error)}, ctx)


@hookimpl
def end_session(reason: str, ctx: Context) -> Awaitable[None] | None:
    return _end(reason if reason in ENDINGS else "other", ctx) if Plan.of(ctx).has("SessionEnd") else None


async def _end(reason: str, ctx: Context) -> None:
    await fire("SessionEnd", (reason,), {"reason": reason}, ctx)
