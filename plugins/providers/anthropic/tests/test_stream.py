"""Answers, from a real server through the real SDK."""

from __future__ import annotations

import json
import threading
import time
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from pegboard_anthropic import AnthropicProvider
from pegboard_session import CachePoints, OpaqueBlock, Stop, TextDelta, TextEnd, ThinkingDelta, ToolCall, Usage

from .loopback import REQUEST, ask, meant, says, sse

THINKS_AND_CALLS = sse.message(
    sse.thinking("Let me see."), sse.text("I will read it."), sse.tool_use("Read", {"file_path": "a.txt"})
)


async def test_events_say_what_was_sent() -> None:
    with sse.SseServer([THINKS_AND_CALLS]) as server:
        assert await ask(server.url) == [
            Usage(input_tokens=10, output_tokens=1),
            ThinkingDelta("Let m"),
            ThinkingDelta("e see."),
            OpaqueBlock({"type": "thinking", "thinking": "Let me see.", "signature": "sig"}),
            TextDelta("I will "),
            TextDelta("read it."),
            TextEnd(),
            ToolCall("toolu_1", "Read", '{"file_path": "a.txt"}'),
            Usage(output_tokens=20),
            Stop("tool_use"),
        ]


async def test_unknown_blocks_events_and_pings_pass_through() -> None:
    block = {"type": "hologram", "depth": 3, "nested": {"a": [1, None]}}
    extra = [(0.0, {"type": "ping"}), (0.0, {"type": "weather_report", "sun": True})]
    whole = sse.message(block)
    answer = [whole[0], *extra, *whole[1:]]
    with sse.SseServer([answer]) as server:
        events = await ask(server.url)
    assert events == [Usage(10, 1), OpaqueBlock(block), Usage(output_tokens=20), Stop("end_turn")]


async def test_line_separators_of_unicode_inside_a_text_survive() -> None:
    words = "one\u2028two\u2029three\x85four\x0bfive"
    with sse.SseServer([sse.message(sse.text(words))]) as server:
        events = await ask(server.url)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == words


async def test_an_event_is_handed_on_before_the_next_one_is_sent() -> None:
    more = threading.Event()
    with sse.SseServer([sse.message(sse.text("first"), (more, sse.text("second")))]) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")
        async with aclosing(provider.stream(REQUEST)) as events:
            async for event in events:
                if event == TextEnd() and not more.is_set():
                    assert server.requests[0].message_end is None
                    more.set()
        await provider.aclose()
    assert server.requests[0].message_end is not None


async def test_the_body_is_the_request_in_its_own_order_and_nothing_is_lost() -> None:
    schema = {
        "type": "object",
        "required": ["z", "a"],
        "properties": {"z": {"type": "string"}, "a": {"type": "integer"}},
    }
    tools = [{"name": "Zed", "input_schema": schema, "description": "z"}, {"name": "Ay", "input_schema": schema}]
    options = {"thinking": {"type": "adaptive"}, "temperature": 1, "a_key_of_next_year": {"b": 1, "a": None}}
    cache = CachePoints(tools=(0, 1), system=True, last_message=True)
    request = replace(REQUEST, system=("Stable.", "Be brief. ✓"), tools=tools, options=options, cache=cache)
    with sse.SseServer([sse.message(sse.text("ok"))]) as server:
        await ask(server.url, request)
    sent = server.requests[0].raw
    mark = {"cache_control": {"type": "ephemeral"}}
    body = {
        "model": "claude-test",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Stable."}, {"type": "text", "text": "Be brief. ✓", **mark}],
        "tools": [{**tools[0], **mark}, {**tools[1], **mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello", **mark}]}],
        **options,
        "stream": True,
    }
    assert sent == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


async def test_halves_of_characters_are_replaced_so_that_the_conversation_can_go_on() -> None:
    request = says("caf\udce9.txt \ud83d\ude00 ok")
    with sse.SseServer([sse.message(sse.text("ok"))]) as server:
        await ask(server.url, request)
    assert server.requests[0].body["messages"][0]["content"][0]["text"] == "caf\ufffd.txt \U0001f600 ok"


async def test_the_request_given_is_not_changed() -> None:
    cached = replace(says("Hello"), cache=CachePoints(last_message=True))
    with sse.SseServer([sse.message(sse.text("ok"))]) as server:
        await ask(server.url, cached)
    assert cached.messages == REQUEST.messages


async def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with sse.SseServer([sse.message(sse.text("ok"))]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-from-the-environment")
        await ask("", base_url=None, api_key=None)
    request = server.requests[0]
    assert (request.path, request.headers["authorization"]) == ("/v1/messages", "Bearer key-from-the-environment")


async def test_a_token_in_the_environment_is_used_where_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token")
    with sse.SseServer([sse.message(sse.text("ok"))]) as server:
        await ask(server.url, api_key=None)
    assert server.requests[0].headers["authorization"] == "Bearer token"


async def test_requests_share_a_connection_until_the_provider_is_closed() -> None:
    late_end = [*sse.message(sse.text("ok")), (0.02, {"type": "ping"})]
    with sse.SseServer(lambda request: late_end) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")
        for closes in (False, True, True):
            async for _ in provider.stream(REQUEST):
                pass
            if closes:
                await provider.aclose()
    assert [request.connection for request in server.requests] == [1, 1, 2]


async def test_requests_may_run_side_by_side_on_one_provider() -> None:
    both = threading.Barrier(2, timeout=10)

    def answer(request: Any) -> Any:
        both.wait()  # Breaks unless the second request arrives while the first is open.
        return sse.message(sse.text(request.body["messages"][0]["content"][0]["text"]))

    texts: list[str] = []
    with sse.SseServer(answer) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")

        async def one(words: str) -> None:
            parts = [e.text async for e in provider.stream(says(words)) if isinstance(e, TextDelta)]
            texts.append("".join(parts))

        async with anyio.create_task_group() as group:
            group.start_soon(one, "left")
            group.start_soon(one, "right")
        await provider.aclose()
    assert sorted(texts) == ["left", "right"]


async def test_cancelling_the_consumer_closes_the_connection_at_once() -> None:
    never = threading.Event()
    with sse.SseServer([sse.message(sse.text("first"), (never, sse.text("second")))]) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")
        with anyio.CancelScope() as scope:
            async with aclosing(provider.stream(REQUEST)) as events:
                async for event in events:
                    if isinstance(event, TextEnd):
                        scope.cancel()
        began = time.monotonic()
        assert await anyio.to_thread.run_sync(server.requests[0].disconnected.wait, 5)
        assert time.monotonic() - began < 1
        await provider.aclose()
    assert scope.cancelled_caught


async def test_closing_the_generator_in_the_middle_closes_the_connection() -> None:
    never = threading.Event()
    with sse.SseServer([sse.message(sse.text("first"), (never, sse.text("second")))]) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")
        async with aclosing(provider.stream(REQUEST)) as events:
            await anext(events)
        assert await anyio.to_thread.run_sync(server.requests[0].disconnected.wait, 5)
        await provider.aclose()


@pytest.mark.parametrize("end", [(0.0, sse.DROP), (threading.Event(), {"type": "ping"})], ids=["drop", "silence"])
async def test_nothing_after_the_end_of_the_message_matters(end: Any) -> None:
    answer = sse.message(sse.text("done"))
    with sse.SseServer([[*answer, end]]) as server:
        with anyio.fail_after(5):
            assert await ask(server.url) == meant(answer)


def test_each_event_loop_has_a_client_of_its_own() -> None:
    with sse.SseServer(lambda request: sse.message(sse.text("ok"))) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")

        async def use() -> int:
            try:
                return len([event async for event in provider.stream(REQUEST)])
            finally:
                await provider.aclose()

        assert anyio.run(use) == anyio.run(use) == anyio.run(use, backend="trio") > 0
