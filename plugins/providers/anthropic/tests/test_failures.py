"""What goes wrong, and what a session is told about it."""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from pegboard import ProviderError
from pegboard_anthropic import AnthropicProvider
from pegboard_http import wait_asked
from pegboard_session import ProviderEvent, Usage

from .loopback import REQUEST, ask, failure, meant, sse

HELLO = sse.message(sse.text("Hello there."), sse.tool_use("Read", {"file_path": "a.txt"}))


def facts(error: ProviderError) -> tuple[str, bool]:
    return error.kind, error.retryable


@pytest.mark.parametrize(
    ("status", "error_type", "said", "kind", "retryable"),
    [
        (400, "invalid_request_error", "max_tokens: too big", "invalid_request", False),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow", False),
        (400, "invalid_request_error", "input length and `max_tokens` exceed context limit", "context_overflow", False),
        (401, "authentication_error", "invalid bearer token", "authentication", False),
        (402, "billing_error", "no credit left", "invalid_request", False),
        (403, "permission_error", "not your model", "authentication", False),
        (404, "not_found_error", "model: claude-9", "invalid_request", False),
        (408, "timeout_error", "too slow", "connection", True),
        (413, "request_too_large", "more than 32 MB", "context_overflow", False),
        (429, "rate_limit_error", "too many tokens a minute", "rate_limit", True),
        (500, "api_error", "internal", "server", True),
        (500, "overloaded_error", "busy", "overloaded", True),
        (502, "api_error", "bad gateway", "server", True),
        (504, "timeout_error", "too slow", "server", True),
        (529, "overloaded_error", "busy", "overloaded", True),
    ],
)
async def test_each_status_has_its_kind(status: int, error_type: str, said: str, kind: str, retryable: bool) -> None:
    with sse.SseServer([sse.Refusal(status, error_type, said)]) as server:
        error = await failure(server.url)
    assert facts(error) == (kind, retryable)
    assert f"({status}): {said}." in str(error)
    assert len(server.requests) == 1, "the provider never repeats a request"


async def test_refused_credentials_name_the_variable_to_set() -> None:
    with sse.SseServer([sse.Refusal(401, "authentication_error", "invalid bearer token")]) as server:
        error = await failure(server.url)
    assert str(error) == (
        "The Anthropic API refused the credentials (401): invalid bearer token. "
        "Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) to a valid key."
    )


async def test_a_missing_key_is_said_before_anything_is_sent() -> None:
    with sse.SseServer([]) as server:
        error = await failure(server.url, api_key=None)
    assert facts(error) == ("authentication", False)
    assert str(error) == (
        "No API key is set for the Anthropic API. Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) to a valid key."
    )
    assert server.requests == []


async def test_a_key_with_a_line_break_is_refused_without_being_quoted() -> None:
    with sse.SseServer([]) as server:
        error = await failure(server.url, api_key="sk-secret\n")
    assert facts(error) == ("authentication", False)
    assert "line breaks" in str(error)
    assert "sk-secret" not in str(error)


async def test_no_log_shows_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with sse.SseServer([sse.Refusal(401, "authentication_error"), sse.DROP, HELLO]) as server:
        for _ in range(2):
            await failure(server.url, api_key="sk-secret")
        await ask(server.url, api_key="sk-secret")
    assert server.requests[2].headers["authorization"] == "Bearer sk-secret"
    assert caplog.records
    assert "sk-secret" not in caplog.text


def test_no_representation_shows_the_key() -> None:
    provider = AnthropicProvider(api_key="sk-secret")
    assert repr(provider) == "<provider anthropic (first-party)>"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_the_wait_that_the_api_asks_for_is_handed_on(headers: dict[str, str], seconds: float | None) -> None:
    with sse.SseServer([sse.Refusal(429, "rate_limit_error", headers=headers)]) as server:
        assert (await failure(server.url)).retry_after == seconds


def test_a_wait_may_be_given_as_a_date() -> None:
    wait = wait_asked({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert wait is not None
    assert 25 < wait <= 30


@pytest.mark.parametrize(("status", "said", "retryable"), [(429, "false", False), (400, "true", True)])
async def test_the_api_has_the_last_word_on_trying_again(status: int, said: str, retryable: bool) -> None:
    with sse.SseServer([sse.Refusal(status, headers={"x-should-retry": said})]) as server:
        assert (await failure(server.url)).retryable is retryable


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>"),
        (b'{"message": "from a gateway"}', "from a gateway"),
        (b'{"error": "only words"}', "no reason given"),
        (b"[1]", "[1]"),
        (b"", "no reason given"),
    ],
)
async def test_a_refusal_in_another_shape_is_quoted_as_far_as_possible(body: bytes, reason: str) -> None:
    with sse.SseServer([sse.Refusal(502, raw=body)]) as server:
        error = await failure(server.url)
    assert facts(error) == ("server", True)
    assert str(error) == f"The Anthropic API failed (502): {reason}."


@pytest.mark.parametrize(
    ("error_type", "said", "kind", "retryable"),
    [
        ("overloaded_error", "Overloaded", "overloaded", True),
        ("rate_limit_error", "Slow down", "rate_limit", True),
        ("api_error", "Internal", "server", True),
        ("timeout_error", "Too slow", "server", True),
        ("authentication_error", "Key revoked", "authentication", False),
        ("invalid_request_error", "Bad block", "invalid_request", False),
        ("invalid_request_error", "prompt is too long", "context_overflow", False),
        ("request_too_large", "Too big", "context_overflow", False),
    ],
)
async def test_an_error_event_in_the_stream_has_the_same_kinds(
    error_type: str, said: str, kind: str, retryable: bool
) -> None:
    answer = [*HELLO[:3], (0.0, sse.error_event(error_type, said))]
    with sse.SseServer([answer]) as server:
        error = await failure(server.url)
    assert facts(error) == (kind, retryable)
    assert f": {said}." in str(error)


async def seen_before_failing(url: str) -> tuple[list[ProviderEvent], ProviderError]:
    provider, seen = AnthropicProvider(base_url=url, api_key="k"), []
    try:
        async for event in provider.stream(REQUEST):
            seen.append(event)  # noqa: PERF401 - what came before the error is the point
    except ProviderError as error:
        return seen, error
    finally:
        await provider.aclose()
    raise AssertionError("the answer did not fail")


async def test_a_connection_lost_inside_a_block_hands_on_what_came_before() -> None:
    answer = sse.cut(HELLO, block=1)
    with sse.SseServer([answer]) as server:
        seen, error = await seen_before_failing(server.url)
    assert seen == meant(answer[:-1])
    assert len(seen) < len(meant(HELLO)) - 2  # Not even the block that was being written.
    assert facts(error) == ("connection", True)
    assert str(error).startswith(f"The connection to the Anthropic API at {server.url} failed: ")


async def test_an_answer_that_ends_without_message_stop_is_a_lost_connection() -> None:
    with sse.SseServer([HELLO[:-1]]) as server:
        seen, error = await seen_before_failing(server.url)
    assert seen[-1] == Usage(output_tokens=20)
    assert facts(error) == ("connection", True)
    assert str(error) == "The answer from the Anthropic API ended before it was complete."


async def test_a_connection_that_is_dropped_without_an_answer_may_be_tried_again() -> None:
    with sse.SseServer([sse.DROP]) as server:
        assert facts(await failure(server.url)) == ("connection", True)


async def test_a_server_that_is_not_there_may_be_tried_again() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Bound but not listening: a connection is refused.
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = await failure(url)
    assert facts(error) == ("connection", True)
    assert url in str(error)


@pytest.mark.parametrize("position", [0, 3], ids=["before the first event", "inside a block"])
async def test_silence_ends_in_a_timeout_that_may_be_tried_again(position: int) -> None:
    answer: Any = [*HELLO[:position], (threading.Event(), HELLO[position][1])]
    with sse.SseServer([answer]) as server:
        error = await failure(server.url, timeout=0.2)
    assert facts(error) == ("connection", True)
    assert str(error) == f"The Anthropic API at {server.url} timed out: it sent nothing for too long."


async def test_an_address_without_a_scheme_is_not_tried_again() -> None:
    error = await failure("localhost-without-scheme")
    assert facts(error) == ("invalid_request", False)
    assert "It must begin with https:// or http://." in str(error)


async def test_an_answer_that_is_a_web_page_points_at_the_address() -> None:
    portal = sse.Refusal(200, raw=b"<html>Please log in</html>", headers={"content-type": "text/html"})
    with sse.SseServer([portal]) as server:
        error = await failure(server.url)
    assert facts(error) == ("server", False)
    assert "answered with text/html instead of a stream of events" in str(error)
    assert "check ANTHROPIC_BASE_URL" in str(error)


async def test_a_request_that_is_not_json_is_refused_before_it_is_sent() -> None:
    with sse.SseServer([]) as server:
        error = await failure(server.url, request=replace(REQUEST, options={"metadata": {"x": float("nan")}}))
    assert facts(error) == ("invalid_request", False)
    assert str(error).startswith("The request cannot be written as JSON: ")
    assert server.requests == []


async def test_after_a_failure_the_same_provider_can_be_asked_again() -> None:
    with sse.SseServer([sse.Refusal(529, "overloaded_error"), sse.cut(HELLO, 0), HELLO]) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")
        for _ in range(2):
            with pytest.raises(ProviderError):
                [event async for event in provider.stream(REQUEST)]
        assert [event async for event in provider.stream(REQUEST)] == meant(HELLO)
        await provider.aclose()


async def test_an_event_without_end_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def stream() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: ping\ndata: ")
                while True:
                    connection.sendall(b"x" * 1_000_000)

        thread = threading.Thread(target=stream)
        thread.start()
        provider = AnthropicProvider(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", api_key="test-key")
        with pytest.raises(ProviderError, match=r"sent an event of more than 16,000,000 bytes\. The answer was cut"):
            _ = [event async for event in provider.stream(REQUEST)]
        thread.join()
        await provider.aclose()
