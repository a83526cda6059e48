"""The hooks: a trace for each session, and the span of a call around what its tool does.

A session is observed only where spans are recorded, so without a provider events cost nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from pegboard import Call, Context, Deny, ProviderError, Result, Tool, hookimpl
from pegboard_telemetry.tracer import current_tracer, recent_tracer

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from pegboard import Input
    from pegboard_session import Session
    from pegboard_telemetry.session_trace import SessionTrace

# Imports happen inside functions: the API of OpenTelemetry takes 18 ms, which only those pay who record spans.

Execute = Callable[[Any, Context], Awaitable[Any]]
SERVICE = "telemetry"

log = logging.getLogger("pegboard")


@hookimpl(priority=-50)
def register_session_services(session: Session) -> Mapping[str, object]:
    """The trace of a session, early: what other plugins do when it opens belongs into it."""
    tracer = _or_nothing(current_tracer)
    if tracer is None:
        return {SERVICE: None} if session.parent else {}  # The trace of a parent is not that of its agent.
    from pegboard_telemetry.session_trace import SessionTrace

    trace = SessionTrace(session, tracer)
    session.desk.scoped.add_observer(trace.observe)
    return {SERVICE: trace}


@hookimpl(priority=-50)
def wrap_execute(tool: Tool[Any, Any], execute: Execute) -> Execute:
    """Make the span of a call the current one while its tool works, so that what the tool does nests below it."""

    async def traced(args: Any, ctx: Context) -> Any:
        trace: Any = ctx.services.others.get(SERVICE)
        if trace is not None:
            with trace.within(ctx.call_id):
                return await execute(args, ctx)
        tracer = _or_nothing(recent_tracer)
        if tracer is None:
            return await execute(args, ctx)
        from pegboard_telemetry.lone_calls import LoneCall

        with LoneCall(tracer, tool.name, ctx):
            return await execute(args, ctx)

    return traced


def _or_nothing(find: Callable[[], Tracer | None]) -> Tracer | None:
    """The tracer. One that cannot be made is missed in the traces, never in a call."""
    try:
        return find()
    except Exception:
        log.exception("no tracer could be made")
        return None


@hookimpl
def after_failure(call: Call, args: Input | None, result: Result, ctx: Context) -> None:
    """A call outside a session that never came to its act has a span too."""
    if ctx.services.others.get(SERVICE) is not None or (args is not None and not isinstance(result.decision, Deny)):
        return
    if tracer := recent_tracer():
        from pegboard_telemetry.lone_calls import note_refusal

        note_refusal(tracer, call, result)


@hookimpl
def prompt_failed(error: ProviderError, ctx: Context) -> None:
    """The request that failed ends here: no event tells it."""
    trace: SessionTrace | None = ctx.services.others.get(SERVICE)  # type: ignore[assignment]
    if trace is not None:
        trace.fail_prompt(error)
