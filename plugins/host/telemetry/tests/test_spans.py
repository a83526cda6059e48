"""The spans of sessions, in an in-memory exporter: a tree of session, request, call and decision."""

from __future__ import annotations

import json

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from pegboard import Allow, Call, Deny, ProviderError
from pegboard_session import ReplayProvider, Retries, Session

from .tools import MEETINGS, Meeting, said, use

USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}


async def run(board, *turns, provider=None):
    """One prompt to a model that says this, turn by turn, and then that it is done."""
    provider = provider or ReplayProvider([*({"content": list(turn), "usage": USAGE} for turn in turns), *DONE])
    async with Session(board, provider, model="big", retries=Retries(most=1, first=0.001)) as session:
        await session.run("The prompt.")
    return session


DONE = [{"content": [said("Done.")], "usage": USAGE}]


async def test_a_session_is_a_tree_of_session_request_call_and_decision(board, spans):
    await run(board, [use("Echo", text="hello")])
    tree = sorted(spans.path(span) for span in spans.all)
    top = "invoke_agent main"
    assert tree == [
        [top],
        [top, "chat big"],
        [top, "chat big"],
        [top, "chat big", "execute_tool Echo"],
        [top, "chat big", "execute_tool Echo", "library hello"],
        [top, "chat big", "execute_tool Echo", "permission Echo"],
    ]
    assert len({span.context.trace_id for span in spans.all}) == 1


async def test_the_attributes_are_those_of_the_conventions(board, spans):
    session = await run(board, [use("Echo", id="call_1", text="hello")])
    about = {
        "gen_ai.provider.name": "replay",
        "gen_ai.request.model": "big",
        "gen_ai.conversation.id": session.id,
    }
    tokens = {
        "gen_ai.usage.input_tokens": 117,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.cache_creation.input_tokens": 7,
    }
    top = spans.one("invoke_agent main")
    assert top.kind == SpanKind.INTERNAL
    assert dict(top.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "main",
        "gen_ai.agent.id": "main",
        **about,
        **{name: 2 * number for name, number in tokens.items()},
        "pegboard.usage.requests": 2,
    }
    assert [event.name for event in top.events] == ["pegboard.prompt_answered"]
    request = min(spans.named("chat big"), key=lambda span: span.start_time)
    assert request.kind == SpanKind.CLIENT
    assert dict(request.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.max_tokens": session.max_tokens,
        "gen_ai.response.finish_reasons": ("tool_use",),
        "pegboard.request.attempt": 0,
        **about,
        **tokens,
    }
    call = spans.one("execute_tool Echo")
    assert call.status.status_code == StatusCode.UNSET
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Echo",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_1",
        "pegboard.decision": "allow",
    }
    decision = spans.one("permission Echo")
    said = dict(decision.attributes)
    assert (said["pegboard.decision"], said["pegboard.decision.asked"]) == ("allow", False)
    assert said["pegboard.decision.layer"]
    assert call.start_time <= decision.end_time <= call.end_time


async def test_nothing_that_was_said_is_in_a_span_unless_a_setting_says_so(board, make_board, spans):
    await run(board, [use("Echo", text="a secret")], [use("Fail", text="bug"), use("Fail")])
    written = "".join(span.to_json() for span in spans.all if not span.name.startswith("library"))
    assert "secret" not in written
    assert "The prompt" not in written
    spans_before = len(spans.all)
    await run(make_board({"telemetry.content": True}), [use("Echo", text="a secret")])
    call = spans.all[spans_before:]
    [echo] = [span for span in call if span.name == "execute_tool Echo"]
    assert json.loads(echo.attributes["gen_ai.tool.call.arguments"]) == {"text": "a secret"}
    assert echo.attributes["gen_ai.tool.call.result"] == "a secret"
    first, last = sorted((s for s in call if s.name == "chat big"), key=lambda span: span.start_time)
    assert "The prompt." in first.attributes["gen_ai.input.messages"]
    assert "Done." in last.attributes["gen_ai.output.messages"]


@pytest.mark.parametrize(("text", "code"), [("bug", "internal"), ("", "not_found")])
async def test_a_failed_call_has_its_code_as_the_type_of_its_error(board, spans, text, code):
    await run(board, [use("Fail", text=text)])
    call = spans.one("execute_tool Fail")
    assert (call.status.status_code, call.status.description) == (StatusCode.ERROR, None)
    assert call.attributes["error.type"] == code
    assert not call.events


async def test_a_call_of_no_tool_and_an_invalid_input_have_spans(board, spans):
    await run(board, [use("Absent"), use("Echo", wrong=1)])
    assert spans.one("execute_tool Absent").attributes["error.type"] == "not_found"
    assert spans.one("execute_tool Echo").attributes["error.type"] == "invalid_input"
    assert {spans.parent(span) for span in spans.all if span.name.startswith("execute")} == {"chat big"}


@pytest.mark.parametrize(
    ("answer", "word"), [(Allow("Yes.", layer="ask"), "allow"), (Deny("No.", layer="ask"), "deny"), (None, "deny")]
)
async def test_a_question_is_one_decision_with_its_answer(board, person, spans, answer, word):
    person.decision = answer
    await run(board, [use("Change")])
    decision, call = spans.one("permission Change"), spans.one("execute_tool Change")
    assert spans.path(decision)[-2:] == ["execute_tool Change", "permission Change"]
    assert (decision.attributes["pegboard.decision"], decision.attributes["pegboard.decision.asked"]) == (word, True)
    assert call.attributes["pegboard.decision"] == word
    assert call.attributes.get("error.type") == (None if word == "allow" else "permission_denied")


async def test_a_denial_names_its_rule_and_where_it_comes_from(make_board, spans):
    await run(make_board({"permissions.deny": ["Echo(text:bad*)"]}), [use("Echo", text="bad idea")])
    said = spans.one("permission Echo").attributes
    assert (said["pegboard.decision"], said["pegboard.decision.rule"]) == ("deny", "Echo(text:bad*)")
    assert said["pegboard.decision.source"] == "test"
    assert "bad idea" not in json.dumps(dict(said))
    assert spans.one("execute_tool Echo").attributes["error.type"] == "permission_denied"


async def test_cancelled_calls_end_too(board, spans):
    await run(board, [use("Wait"), use("Change")])
    assert spans.one("execute_tool Wait").attributes["error.type"] == "cancelled"
    assert spans.one("execute_tool Change").attributes["error.type"] == "cancelled"
    assert spans.parent(spans.one("execute_tool Change")) == "chat big"
    assert spans.one("invoke_agent main").events[0].attributes["pegboard.stopped_by"] == "interrupted"


async def test_parallel_calls_keep_what_they_do_apart(board, spans):
    MEETINGS.append(Meeting())
    await run(board, [use("Meet", "a", text="one"), use("Meet", "b", text="two")])
    calls = {span.attributes["gen_ai.tool.call.id"]: span for span in spans.named("execute_tool Meet")}
    assert calls["a"].start_time < calls["b"].end_time
    assert calls["b"].start_time < calls["a"].end_time
    for call, name in (("a", "one"), ("b", "two")):
        assert spans.one(f"library {name}").parent.span_id == calls[call].context.span_id
        assert spans.parent(calls[call]) == "chat big"
    decided = {span.parent.span_id for span in spans.named("permission Meet")}
    assert decided == {span.context.span_id for span in calls.values()}


async def test_a_call_of_a_tool_is_below_the_call_that_makes_it(board, spans):
    await run(board, [use("Outer")])
    assert spans.path(spans.one("library inner"))[1:] == [
        "chat big",
        "execute_tool Outer",
        "execute_tool Echo",
        "library inner",
    ]


async def test_what_a_thread_does_is_below_its_call(board, spans):
    await run(board, [use("EchoInThread")])
    assert spans.parent(spans.one("library in a thread")) == "execute_tool EchoInThread"


async def test_a_sub_agent_is_below_the_call_that_started_it(board, spans):
    await run(board, [use("Delegate")])
    assert spans.path(spans.one("library child")) == [
        "invoke_agent main",
        "chat big",
        "execute_tool Delegate",
        "invoke_agent main",
        "chat small",
        "execute_tool Echo",
        "library child",
    ]
    assert len(spans.named("execute_tool Echo")) == 1, "a parent hears its agent, and must not count it twice"


class Failing:
    """A provider that fails so often before it answers."""

    name = "failing"

    def __init__(self, failures, kind="overloaded"):
        self.failures, self.kind, self.then = failures, kind, ReplayProvider(DONE)

    async def stream(self, request):
        if self.failures:
            self.failures -= 1
            raise ProviderError("The secret words of a server.", kind=self.kind, retryable=True)
        async for event in self.then.stream(request):
            yield event


async def test_a_request_that_is_repeated_has_a_span_for_each_attempt(board, spans):
    await run(board, provider=Failing(1))
    first, second = sorted(spans.named("chat big"), key=lambda span: span.start_time)
    assert (first.attributes["error.type"], first.status.status_code) == ("retried", StatusCode.ERROR)
    assert (second.attributes["pegboard.request.attempt"], "error.type" in second.attributes) == (1, False)


async def test_a_request_that_fails_for_good_names_its_kind(board, spans):
    with pytest.raises(ProviderError):
        await run(board, provider=Failing(9, kind="rate_limit"))
    last = max(spans.named("chat big"), key=lambda span: span.start_time)
    assert last.attributes["error.type"] == "rate_limit"
    top = spans.one("invoke_agent main")
    assert [event.name for event in top.events] == ["pegboard.prompt_failed"]
    assert "secret" not in "".join(span.to_json() for span in spans.all)


async def test_a_session_is_below_what_the_application_does(board, spans):
    with trace.get_tracer("an application").start_as_current_span("handle a request"):
        await run(board)
    assert spans.parent(spans.one("invoke_agent main")) == "handle a request"


async def test_a_call_outside_a_session_has_its_spans(board, person, spans):
    with trace.get_tracer("an application").start_as_current_span("script"):
        for number, (name, given) in enumerate([("Echo", {"text": "x"}), ("Fail", {}), ("Echo", {"wrong": 1})]):
            await board.dispatch(Call(str(number), name, given), board.context())
        person.decision = Deny("No.", layer="ask")
        await board.dispatch(Call("3", "Change", {}), board.context())
    found = sorted((span.attributes["gen_ai.tool.call.id"], span.attributes.get("error.type")) for span in calls(spans))
    assert found == [("0", None), ("1", "not_found"), ("2", "invalid_input"), ("3", "permission_denied")]
    assert spans.path(spans.one("library x")) == ["script", "execute_tool Echo", "library x"]
    assert [span.attributes["pegboard.decision"] for span in spans.named("permission Change")] == ["deny"]


def calls(spans):
    return [span for span in spans.all if span.name.startswith("execute_tool")]
