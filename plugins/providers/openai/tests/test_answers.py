"""What chunks mean, from a real server."""

from __future__ import annotations

import threading
import time
from contextlib import aclosing
from typing import Any

import anyio
import anyio.to_thread
import pytest

from pegboard_openai import OpenAIProvider
from pegboard_session import OpaqueBlock, Stop, TextDelta, ThinkingDelta, ToolCall, Usage

from .chat import DROP, END, REQUEST, ChatServer, ask, delta, says, tool_call, usage

COUNTED = Usage(input_tokens=10, output_tokens=5)


async def test_text_comes_as_it_is_written_with_its_tokens() -> None:
    with ChatServer([says("Hello", " there")]) as server:
        assert await ask(server) == [TextDelta("Hello"), TextDelta(" there"), COUNTED, Stop("end_turn")]


async def test_a_call_is_put_together_from_its_pieces() -> None:
    pieces = [
        tool_call(0, "", id="call_1", name="Read"),
        *(tool_call(0, part) for part in ('{"file', '_path": "a', '.txt"}')),
    ]
    with ChatServer([[delta(content="Let me see."), *pieces, delta("tool_calls"), usage(), END]]) as server:
        assert await ask(server) == [
            TextDelta("Let me see."),
            ToolCall("call_1", "Read", '{"file_path": "a.txt"}'),
            COUNTED,
            Stop("tool_use"),
        ]


CALLS = [ToolCall("a", "Read", '{"n": 1}'), ToolCall("b", "Grep", '{"n": 2}')]
SHAPES: dict[str, list[Any]] = {
    "in pieces": [
        tool_call(0, "", id="a", name="Read"),
        tool_call(0, '{"n": 1}'),
        tool_call(1, '{"n"', id="b", name="Grep"),
        tool_call(1, ": 2}"),
    ],
    "whole": [tool_call(0, '{"n": 1}', id="a", name="Read"), tool_call(1, '{"n": 2}', id="b", name="Grep")],
    "both in one chunk": [
        delta(
            tool_calls=[
                {"index": 0, "id": "a", "function": {"name": "Read", "arguments": '{"n": 1}'}},
                {"index": 1, "id": "b", "function": {"name": "Grep", "arguments": '{"n": 2}'}},
            ]
        )
    ],
    "without numbers": [
        tool_call(None, '{"n":', id="a", name="Read"),
        tool_call(None, " 1}"),
        tool_call(None, '{"n": 2}', id="b", name="Grep"),
    ],
    "all with the same number": [
        tool_call(0, '{"n": 1}', id="a", name="Read"),
        tool_call(0, '{"n": 2}', id="b", name="Grep"),
    ],
    "id and name in every piece": [
        tool_call(0, '{"n":', id="a", name="Read"),
        tool_call(0, " 1}", id="a", name="Read"),
        tool_call(1, '{"n": 2}', id="b", name="Grep"),
    ],
    "arguments that are objects": [
        tool_call(0, {"n": 1}, id="a", name="Read"),
        tool_call(1, {"n": 2}, id="b", name="Grep"),
    ],
}


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call"])
@pytest.mark.parametrize("pieces", SHAPES.values(), ids=SHAPES)
async def test_two_calls_are_kept_apart_however_a_server_sends_them(pieces: list[Any], finish: str) -> None:
    with ChatServer([[*pieces, delta(finish), usage(), END]]) as server:
        assert await ask(server) == [*CALLS, COUNTED, Stop("tool_use")]


async def test_a_call_is_handed_on_as_soon_as_the_next_one_begins() -> None:
    more = threading.Event()
    first = tool_call(0, "{}", id="a", name="Read")
    second = tool_call(1, "", id="b", name="Grep")
    rest = [(more, tool_call(1, "{}")[1]), delta("tool_calls"), END]
    with ChatServer([[first, second, *rest]]) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        seen: list[Any] = []
        async with aclosing(provider.stream(REQUEST)) as events:
            async for event in events:
                seen.append(event)
                if event == ToolCall("a", "Read", "{}"):
                    assert server.requests[0].message_end is None
                    more.set()
        await provider.aclose()
    assert seen == [ToolCall("a", "Read", "{}"), ToolCall("b", "Grep", "{}"), Stop("tool_use")]


async def test_a_call_without_arguments_has_an_empty_object_and_one_without_an_id_is_left_to_the_session() -> None:
    with ChatServer([[tool_call(0, None, name="Now"), delta("tool_calls"), END]]) as server:
        assert await ask(server) == [ToolCall("", "Now", "{}"), Stop("tool_use")]


async def test_a_call_that_the_limit_cuts_in_half_is_dropped_and_the_limit_named() -> None:
    cut = [tool_call(0, "{}", id="a", name="Now"), tool_call(1, '{"file_pa', id="b", name="Read"), delta("length"), END]
    with ChatServer([cut]) as server:
        assert await ask(server) == [ToolCall("a", "Now", "{}"), Stop("max_tokens")]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_is_shown_and_kept(name: str) -> None:
    chunks = [delta(**{name: "Hm"}), delta(**{name: "m."}), delta(content="Yes."), delta("stop"), END]
    with ChatServer([chunks]) as server:
        assert await ask(server) == [
            ThinkingDelta("Hm"),
            ThinkingDelta("m."),
            OpaqueBlock({"type": "reasoning", "field": name, "text": "Hmm."}),
            TextDelta("Yes."),
            Stop("end_turn"),
        ]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("of_next_year", "end_turn")],
)
async def test_the_reasons_to_stop_are_neutral(finish: str, reason: str) -> None:
    with ChatServer([[delta(content="x"), delta(finish), END]]) as server:
        assert (await ask(server))[-1] == Stop(reason)


async def test_a_refusal_of_the_model_is_text_and_a_reason_to_stop() -> None:
    with ChatServer([[delta(refusal="I will not."), delta("stop"), END]]) as server:
        assert await ask(server) == [TextDelta("I will not."), Stop("refusal")]


async def test_tokens_read_from_a_cache_are_counted_apart() -> None:
    more = {"prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 3}}
    with ChatServer([[delta(content="x"), delta("stop"), usage(**more), END]]) as server:
        [_, counted, _] = await ask(server)
    assert counted == Usage(2, 5, cache_read_input_tokens=8, others={"reasoning_tokens": 3})


async def test_what_is_unknown_is_ignored() -> None:
    odd = [
        (0.0, b": a comment\n\n"),
        (0.0, {"object": "of.next.year"}),
        (0.0, {"choices": None, "usage": None}),
        (0.0, {"choices": [{"index": 1, "delta": {"content": "another choice"}}]}),
        delta(content=None, audio={"data": "x"}),
    ]
    with ChatServer([[*odd, *says("ok")]]) as server:
        assert await ask(server) == [TextDelta("ok"), COUNTED, Stop("end_turn")]


async def test_an_answer_without_done_is_complete_once_the_model_has_stopped() -> None:
    with ChatServer([[delta(content="x"), delta("stop")], [delta(content="x"), END]]) as server:
        assert await ask(server) == [TextDelta("x"), Stop("end_turn")]
        assert await ask(server) == [TextDelta("x"), Stop("end_turn")], "and so it is with [DONE] alone"


@pytest.mark.parametrize("end", [(0.0, DROP), (threading.Event(), b": ping\n\n")], ids=["drop", "silence"])
async def test_nothing_after_the_end_matters(end: Any) -> None:
    with ChatServer([[*says("done"), end]]) as server:
        with anyio.fail_after(5):
            assert (await ask(server))[-1] == Stop("end_turn")


async def test_cancelling_closes_the_connection_at_once() -> None:
    never = threading.Event()
    with ChatServer([[delta(content="first"), (never, delta(content="second")[1])]]) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        with anyio.CancelScope() as scope:
            async with aclosing(provider.stream(REQUEST)) as events:
                async for _ in events:
                    scope.cancel()
        began = time.monotonic()
        assert await anyio.to_thread.run_sync(server.requests[0].disconnected.wait, 5)
        assert time.monotonic() - began < 1
        await provider.aclose()


async def test_requests_share_a_connection_until_the_provider_is_closed() -> None:
    with ChatServer(lambda request: says("ok")) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        for closes in (False, True, True):
            async for _ in provider.stream(REQUEST):
                pass
            if closes:
                await provider.aclose()
    assert [request.connection for request in server.requests] == [1, 1, 2]
