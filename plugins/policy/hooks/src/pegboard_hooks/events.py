"""Fire an event: choose the handlers, run them concurrently, read their answers, report what went wrong."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from pegboard import Context, Facts, Tool
from pegboard.hosting import maybe_await
from pegboard_hooks.conditions import Condition
from pegboard_hooks.handler_run import Firing, run
from pegboard_hooks.handlers import Handler
from pegboard_hooks.plan import Plan
from pegboard_hooks.replies import Reply, read_reply
from pegboard_hooks.scoped_hooks import SCOPED
from pegboard_hooks.session_state import state_of
from pegboard_hooks.transcript_view import TranscriptView, view_path
from pegboard_hooks.variables import keep_variables, new_env_file

if TYPE_CHECKING:
    from pegboard import Input

log = logging.getLogger("pegboard.hooks")


@dataclass(frozen=True, slots=True)
class HookedCall:
    """The call that an event is about, for the `if` of handlers."""

    tool: Tool[Any, Any]
    args: Input


Answered = tuple[Handler, Reply]


async def fire(
    event: str, names: tuple[str, ...], about: Mapping[str, Any], ctx: Context, subject: HookedCall | None = None
) -> list[Answered]:
    """The answers of all handlers in the order of the settings, not of completion."""
    plan = Plan.of(ctx)
    chosen = await _chosen(event, names, ctx, subject)
    if not chosen:
        return []
    firing = Firing({**common(event, ctx), **about}, new_env_file(event, ctx))
    replies: list[Reply] = [Reply() for _ in chosen]

    for handler in (one for one in chosen if one.is_once):
        ctx.service(SCOPED).spend(handler)

    async def ask(place: int, handler: Handler) -> None:
        try:
            replies[place] = read_reply(event, await run(handler, firing, ctx), handler.on_error)
        except Exception as error:  # A plugin that wraps processes failed, so this guard has not run.
            log.exception("%s could not be started", handler)
            replies[place] = Reply(unclear=f"It could not be started: {type(error).__name__}.")

    async with anyio.create_task_group() as group:
        for place, handler in enumerate(chosen):
            if handler.status:
                ctx.report(handler.status, hook=handler.name)
            if fault := handler.fault or _cannot_run(handler, ctx):
                replies[place] = Reply(unclear=fault)
            elif handler.is_async and _leave_running(handler, firing, ctx):
                continue
            else:
                group.start_soon(ask, place, handler)
    if firing.env_file and (wrong := await keep_variables(firing.env_file, ctx)):
        ctx.report(wrong)
    answered = list(zip(chosen, replies, strict=True))
    for handler, reply in answered:
        _tell(handler, reply, plan, ctx)
    return [(handler, Reply() if handler.is_async else reply) for handler, reply in answered]


def common(event: str, ctx: Context) -> dict[str, Any]:
    """What every handler reads on its standard input."""
    state = state_of(ctx)
    said: dict[str, Any] = {
        "session_id": ctx.session_id or state.id,
        "prompt_id": state.prompt_id,
        "transcript_path": transcript_of(ctx, "main"),
        "cwd": str(ctx.cwd),
        "permission_mode": ctx.mode,
        "hook_event_name": event,
    }
    if state.transcript:
        said["session_transcript_path"] = str(state.transcript)
    if ctx.agent.depth:
        said |= {"agent_id": ctx.agent.id, "agent_type": ctx.agent.kind}
    return said


def transcript_of(ctx: Context, agent: str) -> str:
    """The file with the conversation of an agent as scripts expect it, up to date if it is the agent of this context.

    A file that cannot be written must not keep a guard from running, so then the last one counts.
    """
    state, conversation = state_of(ctx), ctx.services.others.get("conversation")
    if conversation is None:
        return ""
    view = state.views.get(agent)
    if view is None:
        path = view_path(state.transcript, agent, ctx)
        if path is None:
            return ""
        view = state.views[agent] = TranscriptView(path)
    is_own = agent == (ctx.agent.id if ctx.agent.depth else "main")
    if is_own:
        try:
            view.update(getattr(conversation, "messages", ()), ctx, ctx.session_id)
        except OSError as error:
            log.warning("%s cannot be written: %s", view.path, error.strerror)
    return str(view.path)


async def _chosen(event: str, names: tuple[str, ...], ctx: Context, subject: HookedCall | None) -> list[Handler]:
    chosen = []
    for handler in Plan.of(ctx).matching(event, names):
        if handler.condition and subject and not await _holds(handler.condition, subject, ctx):
            continue
        chosen.append(handler)
    return chosen


async def _holds(condition: Condition, subject: HookedCall, ctx: Context) -> bool:
    try:
        facts: Facts = await maybe_await(subject.tool.facts(subject.args, ctx))
    except Exception:  # The tool cannot say what the call would do; in doubt, the hook runs.
        return True
    return condition.holds(subject.tool, subject.args, facts, ctx)


def _cannot_run(handler: Handler, ctx: Context) -> str:
    missing = handler.kind == "command" and ctx.services.processes is None
    return "This host has no process service, so no hook can run." if missing else ""


def _leave_running(handler: Handler, firing: Firing, ctx: Context) -> bool:
    """Run a handler in the background; False where nothing may outlive a call."""
    background = ctx.services.background
    if background is None or firing.payload["hook_event_name"] == "SessionEnd":
        return False

    async def work() -> None:
        reply = read_reply(handler.event, await run(handler, firing, ctx))
        if reply.problem:
            log.warning("%s failed: %s", handler, reply.problem)

    background.start(f"hook: {handler.name}", work)
    return True


def _tell(handler: Handler, reply: Reply, plan: Plan, ctx: Context) -> None:
    """Show the user a handler's message and what is wrong with it."""
    if reply.message:
        ctx.report(reply.message, hook=handler.name)
    trouble = reply.problem or reply.unclear
    if not trouble:
        return

    def report() -> None:
        log.warning("%s: %s", handler, trouble)
        ctx.report(f"{str(handler)[:1].upper()}{str(handler)[1:]}: {trouble}", hook=handler.name)

    if handler.fault:
        plan.report_once(handler, report)
    else:
        report()
