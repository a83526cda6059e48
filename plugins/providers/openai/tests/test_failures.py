"""What goes wrong, and what a session is told about it."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from typing import Any

import pytest

from pegboard import ProviderError
from pegboard_openai import OpenAIProvider
from pegboard_session import TextDelta

from .chat import DROP, END, REQUEST, ChatServer, Refusal, ask, delta, failure, says, tool_call


def refused(status: int, message: str, *, headers: dict[str, str] | None = None, **fields: Any) -> Refusal:
    body = {"error": {"message": message, "param": None, **fields}}
    return Refusal(status, raw=json.dumps(body).encode(), headers=headers or {})


@pytest.mark.parametrize(
    ("answer", "kind", "retryable"),
    [
        (refused(400, "Bad schema", type="invalid_request_error"), "invalid_request", False),
        (refused(400, "Too much", code="context_length_exceeded"), "context_overflow", False),
        (refused(400, "This model's maximum context length is 8192 tokens"), "context_overflow", False),
        (refused(400, "request exceeds", type="exceed_context_size_error", code=400), "context_overflow", False),
        (refused(500, "the request exceeds the context size"), "context_overflow", False),
        (refused(401, "Incorrect API key", code="invalid_api_key"), "authentication", False),
        (refused(403, "Country not supported"), "authentication", False),
        (refused(404, "No such model", code="model_not_found"), "invalid_request", False),
        (refused(408, "Too slow"), "connection", True),
        (refused(409, "Conflict"), "server", True),
        (refused(413, "Too big"), "context_overflow", False),
        (refused(422, "Unprocessable"), "invalid_request", False),
        (refused(429, "Slow down", code="rate_limit_exceeded"), "rate_limit", True),
        (refused(429, "You exceeded your quota", code="insufficient_quota"), "rate_limit", False),
        (refused(500, "Internal", type="server_error"), "server", True),
        (refused(503, "Loading model", type="unavailable_error", code=503), "overloaded", True),
        (refused(400, "Try again", headers={"x-should-retry": "true"}), "invalid_request", True),
        (refused(500, "Do not", headers={"x-should-retry": "false"}), "server", False),
    ],
)
async def test_each_refusal_has_its_kind(answer: Refusal, kind: str, retryable: bool) -> None:
    with ChatServer([answer]) as server:
        error = await failure(server)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert f"({answer.status}): {json.loads(answer.raw or b'')['error']['message']}." in str(error)
    assert len(server.requests) == 1, "the provider never repeats a request"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>"),
        (b'{"object": "error", "message": "from vLLM", "code": 500}', "from vLLM"),
        (b'{"error": "only words"}', "only words"),
        (b'{"detail": "from a gateway"}', "from a gateway"),
        (b"[1]", "[1]"),
        (b"", "no reason given"),
    ],
)
async def test_a_refusal_in_another_shape_is_quoted_as_far_as_possible(body: bytes, reason: str) -> None:
    with ChatServer([Refusal(502, raw=body)]) as server:
        error = await failure(server)
    assert str(error) == f"The OpenAI-compatible server failed (502): {reason}."


async def test_refused_credentials_name_the_variable_to_set() -> None:
    with ChatServer([refused(401, "Incorrect API key provided")]) as server:
        error = await failure(server, key_variable="MY_KEY")
    assert str(error) == (
        "The OpenAI-compatible server refused the credentials (401): Incorrect API key provided. "
        "Set MY_KEY to a valid key."
    )


@pytest.mark.parametrize(
    ("headers", "seconds"), [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "250"}, 0.25), ({}, None)]
)
async def test_the_wait_that_the_server_asks_for_is_handed_on(headers: dict[str, str], seconds: float | None) -> None:
    with ChatServer([refused(429, "Slow down", headers=headers)]) as server:
        assert (await failure(server)).retry_after == seconds


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"message": "Overloaded", "type": "overloaded_error"}, "overloaded", True),
        ({"message": "Internal", "type": "server_error"}, "server", True),
        ({"message": "Out of memory", "code": 500}, "server", True),
        ({"message": "Bad block", "code": 400}, "invalid_request", False),
        ({"message": "the context size was exceeded", "code": 500}, "context_overflow", False),
        ("only words", "invalid_request", False),
    ],
)
async def test_an_error_in_the_middle_has_the_same_kinds(error: Any, kind: str, retryable: bool) -> None:
    with ChatServer([[delta(content="Hel"), (0.0, {"error": error})]]) as server:
        raised = await failure(server)
    assert (raised.kind, raised.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    "chunk",
    [
        b"data: {oops\n\n",
        b"data: [1]\n\n",
        {"choices": [{"delta": {"content": 5}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": 5}}]}}]},
        {"choices": "x"},
        {"choices": [7]},
    ],
)
async def test_chunks_that_make_no_sense_can_be_asked_for_again(chunk: Any) -> None:
    with ChatServer([[delta(content="Hel"), (0.0, chunk), END]]) as server:
        error = await failure(server)
    assert (error.kind, error.retryable) == ("server", True)


async def test_a_call_that_goes_on_after_another_has_begun_is_refused() -> None:
    pieces = [tool_call(0, "{", id="a", name="A"), tool_call(1, "{}", id="b", name="B"), tool_call(0, "}")]
    with ChatServer([[*pieces, delta("tool_calls"), END]]) as server:
        assert "continues after another has begun" in str(await failure(server))


async def test_a_call_without_a_name_is_refused() -> None:
    with ChatServer([[tool_call(0, "{}", id="a"), delta("tool_calls"), END]]) as server:
        assert "a call has no name" in str(await failure(server))


@pytest.mark.parametrize(
    "answer", [[delta(content="Hel"), (0.0, DROP)], [delta(content="Hel")], [tool_call(0, "{}", id="a", name="A")]]
)
async def test_an_answer_that_breaks_off_may_be_asked_for_again(answer: list[Any]) -> None:
    with ChatServer([answer]) as server:
        provider, seen = OpenAIProvider(base_url=server.base_url), list[Any]()
        error: ProviderError | None = None
        try:
            async for event in provider.stream(REQUEST):
                seen.append(event)
        except ProviderError as caught:
            error = caught
        await provider.aclose()
    assert error
    assert (error.kind, error.retryable) == ("connection", True)
    assert seen in ([TextDelta("Hel")], []), "a call that may still grow is never handed on"


async def test_a_server_that_hangs_up_or_is_not_there_may_be_tried_again() -> None:
    with ChatServer([DROP]) as server:
        first = await failure(server)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        second = await failure(server, base_url=url)
    assert (first.kind, first.retryable) == (second.kind, second.retryable) == ("connection", True)
    assert str(second).startswith(f"The connection to the OpenAI-compatible server at {url} failed: ")


@pytest.mark.parametrize("position", [0, 1], ids=["before the first chunk", "in the middle"])
async def test_silence_ends_in_a_timeout(position: int) -> None:
    chunks = says("Hello")
    with ChatServer([[*chunks[:position], (threading.Event(), chunks[position][1])]]) as server:
        error = await failure(server, timeout=0.2)
    assert str(error) == (f"The OpenAI-compatible server at {server.base_url} timed out: it sent nothing for too long.")


@pytest.mark.parametrize("address", ["localhost-without-scheme", "ftp://127.0.0.1/v1"])
async def test_an_address_that_is_none_is_not_tried_again(address: str) -> None:
    with ChatServer([]) as server:
        error = await failure(server, base_url=address)
    assert (error.kind, error.retryable) == ("invalid_request", False)
    assert "It must begin with https:// or http://." in str(error)


async def test_an_answer_that_is_no_stream_points_at_the_address() -> None:
    whole = Refusal(200, raw=b'{"choices": []}', headers={"content-type": "application/json"})
    with ChatServer([whole]) as server:
        error = await failure(server)
    assert "answered with application/json instead of a stream of events" in str(error)
    assert "check openai.baseUrl or OPENAI_BASE_URL" in str(error)


async def test_after_a_failure_the_same_provider_can_be_asked_again() -> None:
    with ChatServer([refused(503, "Loading"), says("ok")]) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        with pytest.raises(ProviderError):
            [event async for event in provider.stream(REQUEST)]
        first, *_ = [event async for event in provider.stream(REQUEST)]
        assert first == TextDelta("ok")
        await provider.aclose()


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_to_another_server_takes_no_key_along(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY", "secret")
    headers = {"Api-Key": "$GATEWAY", "X-Team": "core"}
    with ChatServer([[*says("Hello.")]]) as target:
        away = Refusal(status, raw=b"", headers={"location": f"{target.base_url}/chat/completions"})
        with ChatServer([away]) as server:
            await ask(server, headers=headers)
    assert server.requests[0].headers["api-key"] == "secret"
    assert not {"api-key", "x-team", "authorization"} & set(target.requests[0].headers)
    assert target.requests[0].body == server.requests[0].body


async def test_a_redirect_on_the_same_server_takes_them_along() -> None:
    away = Refusal(307, raw=b"", headers={"location": "/other/chat/completions"})
    with ChatServer([away, says("Hello.")]) as server:
        await ask(server, headers={"Api-Key": "secret"})
    assert [request.headers["api-key"] for request in server.requests] == ["secret", "secret"]


@pytest.mark.parametrize("value", ["secret\n", "secret\r\nX-Two: 2", " secret"])
async def test_a_header_that_cannot_be_sent_is_not_quoted(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY", value)
    with ChatServer([says("Hello.")]) as server:
        error = await failure(server, headers={"Api-Key": "$GATEWAY"})
    assert (error.kind, error.retryable) == ("invalid_request", False)
    assert "a header has line breaks, special characters or spaces around it." in str(error)
    assert "secret" not in str(error)
    assert server.requests == []


async def test_a_password_in_the_address_is_not_quoted() -> None:
    with ChatServer([Refusal(200, raw=b"<p>Hi</p>", headers={"content-type": "text/html"})]) as server:
        address = server.base_url.replace("://", "://me:pass@word@")
        wrong = await failure(server, base_url=address)
    away = await failure(server, base_url=address)
    for error, words in ((wrong, "instead of a stream of events"), (away, "failed")):
        assert words in str(error)
        assert "http://***@127.0.0.1" in str(error)
        assert "word" not in str(error)


async def test_a_refusal_without_end_is_not_read_to_its_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 500 No\r\ncontent-type: text/plain\r\n\r\n")
                while True:
                    connection.sendall(b"x" * 65_536)

        thread = threading.Thread(target=refuse)
        thread.start()
        provider = OpenAIProvider(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1", api_key="test-key")
        with pytest.raises(ProviderError, match=r"failed \(500\): x{2000}\."):
            _ = [event async for event in provider.stream(REQUEST)]
        thread.join()
        await provider.aclose()


async def test_an_event_without_end_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def stream() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ")
                while True:
                    connection.sendall(b"x" * 1_000_000)

        thread = threading.Thread(target=stream)
        thread.start()
        provider = OpenAIProvider(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1", api_key="test-key")
        with pytest.raises(ProviderError, match=r"sent an event of more than 16,000,000 bytes\. The answer was cut"):
            _ = [event async for event in provider.stream(REQUEST)]
        thread.join()
        await provider.aclose()
