"""Calls outside a session, as from a script or an MCP client: their spans are below what is current."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from opentelemetry.context import attach, detach
from opentelemetry.trace import Tracer, set_span_in_context

from pegboard import Call, Context, Decision, Result, ToolError
from pegboard_telemetry import names
from pegboard_telemetry.attributes import call_attributes, decision_attributes, set_error

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context as SpanContext
    from opentelemetry.trace import Span

log = logging.getLogger("pegboard")


class LoneCall:
    """The span of one call while its tool works. The contents of such calls are never in it.

    Whatever records spans runs code of others here. A failure of it is logged, and the call goes on without a span.
    """

    def __init__(self, tracer: Tracer, name: str, ctx: Context) -> None:
        self._tracer, self._name, self._ctx = tracer, name, ctx
        self._span: Span | None = None
        self._token: Token[SpanContext] | None = None

    def __enter__(self) -> None:
        with _failing_quietly():
            said = call_attributes(self._name, self._ctx.call_id)
            self._span = self._tracer.start_span(f"{names.CALL_SPAN} {self._name}", attributes=said)
            self._token = attach(set_span_in_context(self._span))
            if self._ctx.decision:
                _note_decision(self._tracer, self._span, self._name, self._ctx.decision)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            detach(self._token)
        if self._span is None:
            return
        with _failing_quietly():
            if isinstance(error, ToolError):
                set_error(self._span, error.code)
            elif error is not None:
                set_error(self._span, "internal" if isinstance(error, Exception) else "cancelled")
            self._span.end()


@contextmanager
def _failing_quietly() -> Generator[None, None, None]:
    try:
        yield
    except Exception:
        log.exception("a span could not be recorded")


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
