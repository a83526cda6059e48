"""What records spans is code of others: where it fails, calls go on."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor

from pegboard import Call
from pegboard_telemetry import tracer


class Broken(SpanProcessor):
    """Fails when a span starts, or when it ends, as long as it is told to."""

    def __init__(self) -> None:
        self.fails_at, self.failures = "", 0

    def on_start(self, span, parent_context=None) -> None:
        self._fail("start")

    def on_end(self, span) -> None:
        self._fail("end")

    def _fail(self, where: str) -> None:
        if where == self.fails_at:
            self.failures += 1
            raise RuntimeError("the recorder is broken")


@pytest.fixture(scope="module")
def recorder():
    made = Broken()
    trace.get_tracer_provider().add_span_processor(made)  # type: ignore[attr-defined]
    return made


@pytest.fixture
def broken(recorder):
    yield recorder
    recorder.fails_at, recorder.failures = "", 0


@pytest.mark.parametrize("where", ["start", "end"])
async def test_a_call_outside_a_session_goes_on(board, broken, where):
    broken.fails_at = where
    result = await board.dispatch(Call("1", "Change", {}), board.context())
    assert (result.is_error, result.text) == (False, "changed")
    assert broken.failures
    assert not trace.get_current_span().get_span_context().is_valid


async def test_a_provider_without_a_tracer_breaks_no_call(board, monkeypatch):
    def refuse(*given, **named):
        raise RuntimeError("no tracer today")

    monkeypatch.setattr(trace.get_tracer_provider(), "get_tracer", refuse)
    monkeypatch.setattr(tracer, "_made", None)
    result = await board.dispatch(Call("1", "Change", {}), board.context())
    assert (result.is_error, result.text) == (False, "changed")
