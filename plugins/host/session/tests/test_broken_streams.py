"""Streams that break: nothing runs twice, nothing runs half, and the session goes on."""

from contextlib import aclosing

import anyio
import pytest

import pegboard_files
import pegboard_processes
from pegboard import Board, Context, ProviderError, tool
from pegboard.settings import Layer, Settings
from pegboard_session import ReplayProvider, Retries, Session, Stop, ToolCall

from .scripts import Faulty, Saying, TextInput, answer, quick, text, turn, use


@pytest.mark.parametrize("error", [ProviderError("busy", kind="overloaded", retryable=True), "cut"])
async def test_a_stream_that_breaks_before_anything_ran_is_repeated(board, watching, error):
    provider = Faulty([turn(text("Hello"), use("Mutate", text="x")), turn(text("end"))], {0: (3, error)})
    if error == "cut":
        provider.turns = [provider.turns[0], *provider.turns]
    async with Session(board, provider, retries=quick()) as session:
        outcome = await session.run("Go")
    assert outcome.text == "end"
    assert len(watching.of("request_retried")) == 1
    assert len(session.messages) == 4


async def test_a_stream_that_breaks_after_a_call_ran_goes_on_from_the_last_complete_block(board, watching):
    ran = []

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Count(args: TextInput, ctx: Context) -> str:
        """Count."""
        ran.append(args.text)
        return args.text

    class Breaks:
        name, number = "breaks", 0

        async def stream(self, request):
            self.number += 1
            if self.number == 1:
                script = ReplayProvider([turn(use("Count", "a", text="first"), use("Count", "b", text="second"))])
                async with aclosing(script.stream(request)) as events:
                    async for event in events:
                        if isinstance(event, ToolCall) and event.id == "b":
                            await anyio.wait_all_tasks_blocked()
                            raise ProviderError("lost", kind="connection", retryable=True)
                        yield event
            async for event in ReplayProvider([turn(text("end"))]).stream(request):
                yield event

    made = Board(
        board.settings, [], plugins=[watching, pegboard_files, pegboard_processes], tools=[Count], env=board.env
    )
    async with Session(made, Breaks(), retries=quick()) as session:
        outcome = await session.run("Go")
    assert (outcome.text, ran) == ("end", ["first"])
    assert [block["id"] for block in session.messages[1]["content"]] == ["a"]
    assert [block["tool_use_id"] for block in session.messages[2]["content"]] == ["a"]
    assert watching.of("message_cut") == [{"reason": "lost"}]


async def test_a_half_received_input_never_runs(board):
    class Cuts:
        name, number = "cuts", 0

        async def stream(self, request):
            self.number += 1
            if self.number > 1:
                async for event in ReplayProvider([turn(text("end"))]).stream(request):
                    yield event
                return
            yield ToolCall("a", "Echo", '{"text": "ha')
            yield Stop("max_tokens")

    async with Session(board, Cuts()) as session:
        assert (await session.run("Go")).text == "end"
    assert session.messages[1]["content"] == [{"type": "tool_use", "id": "a", "name": "Echo", "input": {}}]
    [answer] = session.messages[2]["content"]
    assert answer["is_error"]
    assert "not valid JSON" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("no key", kind="authentication"), "authentication"),
        (ProviderError("prompt is too long", kind="context_overflow"), "context_overflow"),
        (ProviderError("slow down", kind="rate_limit", retryable=True, retry_after=3600), "rate_limit"),
    ],
)
async def test_what_cannot_be_repeated_is_raised_and_the_session_can_go_on(board, error, kind):
    provider = Faulty([turn(text("end"))], {0: (0, error)})
    async with Session(board, provider, retries=quick()) as session:
        with pytest.raises(ProviderError) as caught:
            await session.run("Go")
        assert caught.value.kind == kind
        assert (await session.run("Again")).text == "end"
    assert [message["role"] for message in session.messages] == ["user", "assistant"]


async def test_retries_end(board):
    fault = (0, ProviderError("busy", retryable=True))
    provider = Faulty([turn(text("end"))], dict.fromkeys(range(9), fault))
    async with Session(board, provider, retries=quick()) as session:
        with pytest.raises(ProviderError, match="busy"):
            await session.run("Go")
    assert provider.tries == 4


@pytest.mark.parametrize(
    ("error", "attempt", "expected"),
    [
        (ProviderError("x", retryable=True, retry_after=7), 0, (7, 7)),
        (ProviderError("x", retryable=True, retry_after=61), 0, None),
        (ProviderError("x", retryable=True), 2, (1.5, 2.0)),
        (ProviderError("x", retryable=True), 5, None),
        (ProviderError("x"), 0, None),
    ],
)
def test_how_long_to_wait(error, attempt, expected):
    delay = Retries(most=5).delay(error, attempt)
    assert delay is None if expected is None else expected[0] <= delay <= expected[1]


def test_a_provider_that_breaks_after_a_call_ran_does_not_make_the_session_forget_the_call(watching, board, caplog):
    async def until_it_ran():
        while not watching.of("call_finished"):
            await anyio.sleep(0.001)

    begun = answer(use("Echo", "a", text="once"))[:-2]
    provider = Saying([*begun, until_it_ran, RuntimeError("boom")], answer(text("fine")))

    async def run():
        async with Session(board, provider) as session:
            return await session.run("go"), session.messages

    outcome, messages = anyio.run(run)
    assert outcome.text == "fine"
    assert messages[1]["content"][0]["id"] == messages[2]["content"][0]["tool_use_id"] == "a"
    [cut] = watching.of("message_cut")
    assert cut["reason"] == "The provider saying failed because of a bug: RuntimeError."


def test_patience_comes_from_settings_and_is_longer_where_nobody_watches():
    busy, told = ProviderError("x", retryable=True), ProviderError("x", retryable=True, retry_after=90)
    default = Settings()
    assert Retries.of(default, watched=True).delay(busy, 9, elapsed=200) is None
    assert Retries.of(default).delay(busy, 9, elapsed=200) is not None
    assert Retries.of(default).delay(told, 0) is None
    values = {"retries.tries": 2, "retries.seconds": 10_000, "retries.maxWaitSeconds": 100}
    patient = Retries.of(Settings([Layer("user", "t", values)]))
    assert patient.delay(told, 0) == 90
    assert patient.delay(busy, 0, elapsed=9000) is not None
    assert (patient.delay(busy, 1), patient.delay(told, 0, elapsed=9950)) == (None, None)


async def test_a_model_that_is_busy_for_long_is_waited_for(board, watching):
    fault = (0, ProviderError("busy", retryable=True))
    provider = Faulty([turn(text("end"))], dict.fromkeys(range(30), fault))
    async with Session(board, provider, retries=Retries(first=0.0001, longest=0.001)) as session:
        assert (await session.run("Go")).text == "end"
    assert len(watching.of("request_retried")) == 30
