"""The spans of one session, from its events: session > request > call > decision."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import Span, SpanKind, Tracer, get_current_span, set_span_in_context, use_span

from pegboard import Event, ProviderError
from pegboard_telemetry import names
from pegboard_telemetry.attributes import (
    call_attributes,
    content_of,
    decision_attributes,
    set_error,
    usage_attributes,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context as SpanContext

    from pegboard_session import Session

SERVICE = "telemetry"
Data = Mapping[str, Any]

_within: ContextVar[tuple[SessionTrace, Span] | None] = ContextVar("the call that is being traced", default=None)
"""The call whose tool is working, for those that it makes."""


class SessionTrace:
    """Turns the events of one session into spans. The trace of a sub-agent is one of its own, below its call."""

    def __init__(self, session: Session, tracer: Tracer) -> None:
        self._session, self._tracer = session, tracer
        self._has_content: bool = session.board.settings.get("telemetry.content", False)
        self._span: Span | None = None
        self._request: Span | None = None
        self._is_answering = False
        self._text: list[str] = []
        self._calls: dict[str, Span] = {}
        self._decisions: dict[str, Span] = {}
        self._inputs: dict[str, Any] = {}
        self._acts = {
            "session_started": self._open,
            "request_started": self._ask,
            "request_retried": self._retry,
            "text_written": self._hear,
            "message_cut": self._cut,
            "message_finished": self._answer,
            "call_requested": self._note_input,
            "call_started": self._start_call,
            "decided": self._decide,
            "answered": self._decide,
            "call_finished": self._finish_call,
            "prompt_answered": self._finish_prompt,
            "session_finished": self._close,
        }

    def observe(self, event: Event) -> None:
        """Take one event; those of sub-agents are not ours, though we hear them."""
        if event.data.get("session") == self._session.id and (act := self._acts.get(event.kind)):
            act(event.data)

    @contextmanager
    def within(self, call_id: str) -> Iterator[None]:
        """Make the span of a call the current one."""
        span = self._calls.get(call_id)
        if span is None:
            yield
            return
        token = _within.set((self, span))
        try:
            # How it ends is told by an event, which knows more than the exception.
            with use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            _within.reset(token)

    def fail_prompt(self, error: ProviderError) -> None:
        """The model could not be asked."""
        if self._request and self._is_answering:
            set_error(self._request, error.kind)
        self._end_request()
        if self._span:
            self._span.add_event(names.PROMPT_FAILED, {names.ERROR: error.kind})

    def _about(self) -> dict[str, Any]:
        session = self._session
        return {
            names.PROVIDER: session.provider.name,
            names.MODEL: session.model,
            names.CONVERSATION: session.id,
        }

    def _open(self, data: Data) -> None:
        agent = self._session.ctx.agent
        said = {names.OPERATION: names.AGENT_SPAN, names.AGENT_NAME: agent.kind, names.AGENT_ID: agent.id}
        self._span = self._tracer.start_span(
            f"{names.AGENT_SPAN} {agent.kind}", self._above(), attributes={**said, **self._about()}
        )

    def _above(self) -> SpanContext | None:
        """Below the call that started this agent; below the parent's session where that call is out of sight."""
        parent = self._session.parent
        if parent is None or get_current_span().get_span_context().is_valid:
            return None
        trace = parent.ctx.services.others.get(SERVICE)
        span = trace._span if isinstance(trace, SessionTrace) else None
        return set_span_in_context(span) if span else None

    def _ask(self, data: Data) -> None:
        self._end_request()
        session = self._session
        said: dict[str, Any] = {names.OPERATION: names.REQUEST_SPAN, names.MAX_TOKENS: session.max_tokens}
        self._request = self._tracer.start_span(
            f"{names.REQUEST_SPAN} {session.model}",
            _below(self._span),
            SpanKind.CLIENT,
            {**said, **self._about(), names.ATTEMPT: data["attempt"]},
        )
        self._is_answering, self._text = True, []
        if self._has_content and session.messages:
            self._request.set_attribute(names.INPUT_MESSAGES, content_of(session.messages[-1:]))

    def _retry(self, data: Data) -> None:
        if self._request and self._is_answering:
            set_error(self._request, "retried")
        self._end_request()

    def _hear(self, data: Data) -> None:
        if self._has_content:
            self._text.append(data["text"])

    def _cut(self, data: Data) -> None:
        if self._request:
            set_error(self._request, "connection")

    def _answer(self, data: Data) -> None:
        if self._request is None or not self._is_answering:
            return
        self._request.set_attributes(usage_attributes(data["usage"]))
        if data["stop_reason"]:
            self._request.set_attribute(names.FINISH_REASONS, (data["stop_reason"],))
        else:
            self._request.set_attribute(names.INTERRUPTED, value=True)
        if self._text:
            said = [{"role": "assistant", "parts": [{"type": "text", "content": "".join(self._text)}]}]
            self._request.set_attribute(names.OUTPUT_MESSAGES, content_of(said))
        self._end_request()

    def _end_request(self) -> None:
        """End the span, but keep it: the calls of the answer belong below it, and some have yet to start."""
        if self._request and self._is_answering:
            self._request.end()
        self._is_answering = False

    def _note_input(self, data: Data) -> None:
        if self._has_content:
            self._inputs[data["id"]] = data["input"]

    def _start_call(self, data: Data) -> None:
        if data["id"] not in self._calls:  # A call that is judged again, because something changed, starts again.
            outer = _within.get()
            above = outer[1] if outer and outer[0] is self else self._request
            self._calls[data["id"]] = self._call_span(data, above)

    def _call_span(self, data: Data, above: Span | None, began: int | None = None) -> Span:
        said = call_attributes(data["name"], data["id"])
        span = self._tracer.start_span(
            f"{names.CALL_SPAN} {data['name']}", _below(above or self._span), attributes=said, start_time=began
        )
        if data["id"] in self._inputs:
            span.set_attribute(names.ARGUMENTS, content_of(self._inputs.pop(data["id"])))
        return span

    def _decide(self, data: Data) -> None:
        """A decision, or a question and later its answer: one span for both."""
        span = self._decisions.pop(data["id"], None)
        is_asked = span is not None
        if span is None:
            began = time.time_ns() - round(data["ms"] * 1e6)
            above = _below(self._calls.get(data["id"]))
            span = self._tracer.start_span(f"{names.DECISION_SPAN} {data['name']}", above, start_time=began)
        span.set_attributes({**decision_attributes(data), names.ASKED: is_asked})
        if self._has_content and data["reason"]:
            span.set_attribute(names.REASON, content_of(data["reason"]))
        if data["decision"] == "ask" and not is_asked:
            self._decisions[data["id"]] = span
        else:
            span.end()

    def _finish_call(self, data: Data) -> None:
        span = self._calls.pop(data["id"], None)
        if span is None:  # It was cancelled before it began, by whatever call is working now.
            span = self._call_span(data, self._request, time.time_ns() - round(data["ms"] * 1e6))
        if asked := self._decisions.pop(data["id"], None):
            asked.end()
        if data["decision"]:
            span.set_attribute(names.DECISION, data["decision"])
        if data["is_error"]:
            set_error(span, data["code"] or "failed")
        if self._has_content:
            span.set_attribute(names.RESULT, content_of(data["said"]))
        self._inputs.pop(data["id"], None)
        span.end()

    def _finish_prompt(self, data: Data) -> None:
        if self._span:
            self._span.add_event(names.PROMPT_ANSWERED, {names.STOPPED_BY: data["stopped_by"], "turns": data["turns"]})

    def _close(self, data: Data) -> None:
        """The session is over. What is still open ends with it."""
        for span in (*self._decisions.values(), *self._calls.values()):
            set_error(span, "cancelled")
            span.end()
        self._decisions, self._calls = {}, {}
        self._end_request()
        if self._span:
            self._span.set_attributes(usage_attributes(data["usage"]))
            self._span.set_attribute(names.REQUESTS, data["usage"]["requests"])
            if "cost" in data["usage"]:
                self._span.set_attribute(names.COST, data["usage"]["cost"])
            self._span.end()


def _below(span: Span | None) -> SpanContext | None:
    """A context in which a span is the parent; without one, what is current."""
    return set_span_in_context(span) if span else None
