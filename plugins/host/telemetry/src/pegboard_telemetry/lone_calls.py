"""Calls outside a session, as from a script or an MCP client: their spans are below what is current."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from opentelemetry.trace import Tracer, set_span_in_context, use_span

from pegboard import Call, Context, Decision, Result, ToolError
from pegboard_telemetry import names
from pegboard_telemetry.attributes import call_attributes, decision_attributes, set_error

if TYPE_CHECKING:
    from opentelemetry.trace import Span


class LoneCall:
    """The span of one call while its tool works. The contents of such calls are never in it."""

    def __init__(self, tracer: Tracer, name: str, ctx: Context) -> None:
        said = call_attributes(name, ctx.call_id)
        self._span = tracer.start_span(f"{names.CALL_SPAN} {name}", attributes=said)
        if ctx.decision:
            _note_decision(tracer, self._span, name, ctx.decision)
        self._current = use_span(self._span, end_on_exit=True, record_exception=False, set_status_on_exception=False)

    def __enter__(self) -> None:
        self._current.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ToolError):
            set_error(self._span, error.code)
        elif error is not None:
            set_error(self._span, "internal" if isinstance(error, Exception) else "cancelled")
        self._current.__exit__(kind, error, trace)


def note_refusal(tracer: Tracer, call: Call, result: Result) -> None:
    """The span of a call that never came to its act."""
    span = tracer.start_span(f"{names.CALL_SPAN} {call.name}", attributes=call_attributes(call.name, call.id))
    if result.decision:
        _note_decision(tracer, span, call.name, result.decision)
    set_error(span, result.code or "failed")
    span.end()


def _note_decision(tracer: Tracer, span: Span, name: str, decision: Decision) -> None:
    """The decision has been made before the span began, so it takes no time here."""
    said = {
        "decision": decision.word,
        "layer": decision.layer,
        "rule": decision.rule,
        "source": decision.source,
    }
    span.set_attribute(names.DECISION, decision.word)
    above = set_span_in_context(span)
    tracer.start_span(f"{names.DECISION_SPAN} {name}", above, attributes=decision_attributes(said)).end()
