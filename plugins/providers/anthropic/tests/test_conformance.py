"""The thin transport against the SDK: one server, the same requests, the same events, the same failures.

The SDK is the reference. Everything is asked twice, once over each transport, and compared.
"""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from pegboard import Board, ProviderError
from pegboard_anthropic import AnthropicProvider
from pegboard_anthropic.thin import VERSION
from pegboard_session import CachePoints, ModelOptions, ProviderEvent, Request, Retries, Session

from .loopback import REQUEST, says, sse
from .proxy import Proxy

TRANSPORTS = ("sdk", "thin")
HELLO = sse.message(sse.thinking("Hm."), sse.text("Hello there."), sse.tool_use("Read", {"file_path": "a.txt"}))
OK = sse.message(sse.text("ok"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # The other tests run on trio too.


@dataclass
class Outcome:
    """All that a session can see of one answer."""

    events: list[ProviderEvent]
    error: tuple[str, str, bool, float | None] | None = None


async def asked(transport: str, request: Request = REQUEST, **options: Any) -> Outcome:
    given = {"api_key": "test-key", "timeout": 20.0, **options}
    provider, seen = AnthropicProvider(transport=transport, **given), list[ProviderEvent]()
    try:
        async for event in provider.stream(request):
            seen.append(event)
    except ProviderError as error:
        return Outcome(seen, (str(error), error.kind, error.retryable, error.retry_after))
    finally:
        await provider.aclose()
    return Outcome(seen)


async def both(answer: Any, request: Request = REQUEST, **options: Any) -> tuple[Outcome, list[Any]]:
    """The one outcome of asking over each transport, and the two requests that arrived."""
    with sse.SseServer(lambda received: answer) as server:
        given = {"base_url": server.url, **options}
        outcomes = [await asked(transport, request, **given) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    return outcomes[0], server.requests


def compared(headers: dict[str, str]) -> dict[str, str]:
    """The headers that must agree: all but those in which the SDK introduces itself."""
    return {k: v for k, v in headers.items() if k != "user-agent" and not k.startswith("x-stainless-")}


def assert_same(requests: list[Any]) -> Any:
    reference, thin = requests
    assert thin.path == reference.path
    assert thin.raw == reference.raw
    assert compared(thin.headers) == compared(reference.headers)
    assert "python" in reference.headers["user-agent"].lower()
    assert thin.headers["user-agent"].startswith("pegboard")
    return thin


PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()},
}
TOOL = {"name": "Zed", "description": "z ✓", "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}}
REQUESTS = {
    "plain": REQUEST,
    "words of every alphabet": says('é ✓ 漢字 \U0001f600 \u2028 \x85 \x00 \\ " </script>'),
    "halves of characters": says("caf\udce9.txt \ud83d\ude00 \ud83d"),
    "an empty text": says(""),
    "a long text": says("x" * 300_000),
    "everything": replace(
        REQUEST,
        system=("Stable.", "Changing."),
        tools=(TOOL, {**TOOL, "name": "Ay"}),
        messages=(
            {"role": "user", "content": [{"type": "text", "text": "Look"}, PICTURE]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Zed", "input": {"z": 1.5}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": [PICTURE], "is_error": True}],
            },
        ),
        options={"thinking": {"type": "adaptive"}, "temperature": 1e-7, "a_key_of_next_year": {"b": [None, True]}},
        cache=CachePoints(tools=(0, 1), system=True, last_message=True),
    ),
}


REQUESTS["wanted options and headers"] = replace(
    REQUEST,
    wanted=ModelOptions(
        thinking="budget",
        thinking_budget=2000,
        effort="high",
        betas=("first-2026-01-01", "second-2026-01-01"),
        context_management={"edits": [{"type": "clear_tool_uses_20250919"}]},
        stop_sequences=("END",),
        headers={"X-Trace": "1", "Accept": "text/event-stream"},
        metadata={"user_id": "u"},
    ),
)


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
async def test_the_same_bytes_are_sent(request_: Request) -> None:
    outcome, requests = await both(OK, request_)
    assert outcome.error is None
    assert assert_same(requests).headers["anthropic-version"] == VERSION


ENVIRONMENTS: dict[str, dict[str, str]] = {
    "key": {"ANTHROPIC_API_KEY": "from-the-environment"},
    "token": {"ANTHROPIC_AUTH_TOKEN": "token"},
    "both": {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_AUTH_TOKEN": "token"},
    "an empty key and a token": {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "token"},
    "headers": {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_CUSTOM_HEADERS": "X-One: 1\nx-two:  a: b \nnonsense"},
    "a header without a name": {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_CUSTOM_HEADERS": ": no name"},
    "headers that replace": {
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_CUSTOM_HEADERS": "authorization: Bearer other\nAnthropic-Version: 2023-06-01\nACCEPT: text/plain",
    },
    "a header instead of a key": {"ANTHROPIC_CUSTOM_HEADERS": "X-Api-Key: k"},
    "no key": {},
    "a key with a line break": {"ANTHROPIC_API_KEY": "sk-secret\n"},
    "a token with a space": {"ANTHROPIC_AUTH_TOKEN": "sk secret"},
    "a header that is not ASCII": {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_CUSTOM_HEADERS": "X-Name: Zoë"},
}


@pytest.mark.parametrize("env", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
async def test_the_environment_means_the_same(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    outcome, requests = await both(OK, api_key=None)
    if requests:
        assert_same(requests)
    else:
        assert outcome.error
        assert outcome.error[1] == ("invalid_request" if "key" in env.values() else "authentication")


@pytest.mark.parametrize("suffix", ["", "/", "/proxy/", "/proxy/deep", "/a%20b", "//"])
async def test_an_address_with_a_path_leads_to_the_same_place(suffix: str) -> None:
    with sse.SseServer(lambda received: OK) as server:
        outcomes = [await asked(transport, base_url=server.url + suffix) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error is None
    assert_same(server.requests)


async def test_the_address_of_the_environment_is_used_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    with sse.SseServer(lambda received: OK) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        outcomes = [await asked(transport) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    assert_same(server.requests)


@pytest.mark.parametrize("address", ["nowhere", "ftp://127.0.0.1", "http://", "http://[", "", "http://127.0.0.1:99999"])
async def test_an_address_that_is_none_is_refused_in_the_same_words(address: str) -> None:
    outcomes = [await asked(transport, base_url=address) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error


PING = (0.0, {"type": "ping"})
STREAMS: dict[str, Any] = {
    "thinking, text and a call": HELLO,
    "nothing": sse.message(),
    "pings and kinds of next year": [HELLO[0], PING, (0.0, {"type": "weather", "sun": True}), *HELLO[1:], PING],
    "a block of next year": sse.message({"type": "hologram", "depth": 3, "nested": {"a": [1, None]}}),
    "every reason to stop": sse.message(sse.text("x"), stop_reason="model_context_window_exceeded"),
    "line separators": sse.message(sse.text("one\u2028two\u2029three\x85four\x0bfive")),
    "a drop after the end": [*OK, (0.0, sse.DROP)],
    "cut in a block": sse.cut(HELLO, 1),
    "dropped before a word": sse.DROP,
    "no end": HELLO[:-1],
    "no end and a drop": [*HELLO[:-1], (0.0, sse.DROP)],
    "a call cut in half": sse.cut(HELLO, 2),
    "an invalid event": [HELLO[0], (0.0, {"type": "content_block_start", "index": "x"})],
    **{
        f"{kind} in the middle": [*HELLO[:3], (0.0, sse.error_event(kind, "No"))]
        for kind in ("overloaded_error", "rate_limit_error", "api_error", "invalid_request_error", "next_year_error")
    },
}


@pytest.mark.parametrize("answer", STREAMS.values(), ids=STREAMS)
async def test_the_same_events_come_out(answer: Any) -> None:
    outcome, requests = await both(answer)
    assert len(requests) == 2
    assert outcome.events or outcome.error


EVENTS = {"content-type": "text/event-stream"}
REFUSALS: dict[str, Any] = {
    **{
        f"{status} {kind}": sse.Refusal(status, kind, f"Because of {kind}")
        for status, kind in [
            *[(400, "invalid_request_error"), (401, "authentication_error"), (402, "billing_error")],
            *[(403, "permission_error"), (404, "not_found_error"), (408, "timeout_error"), (409, "conflict_error")],
            *[(413, "request_too_large"), (422, "invalid_request_error"), (429, "rate_limit_error")],
            *[(500, "api_error"), (502, "api_error"), (503, "overloaded_error"), (504, "timeout_error")],
            *[(529, "overloaded_error"), (418, "teapot_error"), (599, "next_year_error")],
        ]
    },
    "too long": sse.Refusal(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    **{
        f"retry-after {value}": sse.Refusal(429, "rate_limit_error", headers={"retry-after": value})
        for value in ("7", "1.5", "-3", "soon", "Wed, 21 Oct 2015 07:28:00 GMT")
    },
    "retry-after-ms": sse.Refusal(529, "overloaded_error", headers={"retry-after-ms": "250", "retry-after": "9"}),
    "may be tried again": sse.Refusal(400, headers={"x-should-retry": "true"}),
    "must not be tried again": sse.Refusal(529, headers={"x-should-retry": "false"}),
    "a web page": sse.Refusal(502, raw=b"<h1>Bad Gateway</h1>", headers={"content-type": "text/html"}),
    "words at the top": sse.Refusal(500, raw=b'{"message": "from a gateway"}'),
    "only words": sse.Refusal(500, raw=b'{"error": "only words"}'),
    "a list": sse.Refusal(500, raw=b"[1]"),
    "null": sse.Refusal(500, raw=b"null"),
    "nothing": sse.Refusal(500, raw=b""),
    "bytes that are no text": sse.Refusal(500, raw=b"\xff\xfe\x00"),
    "much": sse.Refusal(500, raw=b"x" * 100_000),
    "success, but a web page": sse.Refusal(200, raw=b"<html>Log in</html>", headers={"content-type": "text/html"}),
    "success, but no events": sse.Refusal(200, raw=b"", headers=EVENTS),
    "an event that is no JSON": sse.Refusal(200, raw=b"event: message_start\ndata: {oops\n\n", headers=EVENTS),
    "an event that is a list": sse.Refusal(200, raw=b"event: message_start\ndata: [1]\n\n", headers=EVENTS),
    "not modified": sse.Refusal(304, raw=b""),
    "a redirect to nowhere": sse.Refusal(302, raw=b""),
    "a compression that is a lie": sse.Refusal(200, raw=b"not gzip", headers={**EVENTS, "content-encoding": "gzip"}),
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS)
async def test_the_same_failure_is_reported_in_the_same_words(answer: Any) -> None:
    outcome, requests = await both(answer)
    assert outcome.error
    assert len(requests) == 2, "neither transport repeats a request"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_alike(status: int) -> None:
    with sse.SseServer(lambda received: OK) as target:
        away = sse.Refusal(status, raw=b"", headers={"location": f"{target.url}/v1/messages"})
        _, requests = await both(away)
    assert_same(requests)
    if target.requests:  # Those that change the method do not arrive as a POST.
        assert_same(target.requests)
        assert "authorization" not in target.requests[0].headers, "another origin must not see the key"


async def test_a_redirect_takes_no_header_of_the_environment_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Gateway-Key: secret")
    with sse.SseServer(lambda received: OK) as target:
        away = sse.Refusal(307, raw=b"", headers={"location": f"{target.url}/v1/messages"})
        _, requests = await both(away)
    assert [request.headers["x-gateway-key"] for request in requests] == ["secret", "secret"]
    assert ["x-gateway-key" in request.headers for request in target.requests] == [False, False]


async def test_a_redirect_in_a_circle_ends_alike() -> None:
    with sse.SseServer(lambda received: sse.Refusal(307, raw=b"", headers={"location": "/v1/messages"})) as server:
        outcomes = [await asked(transport, base_url=server.url) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error


@pytest.mark.parametrize("position", [0, 3], ids=["before the first event", "inside a block"])
async def test_silence_ends_in_the_same_timeout(position: int) -> None:
    outcome, _ = await both([*HELLO[:position], (threading.Event(), HELLO[position][1])], timeout=1.5)
    assert outcome.error
    assert "timed out" in outcome.error[0]


async def test_a_server_that_never_answers_a_connection_ends_in_the_same_timeout() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]  # They fill the queue, so that no one else is let in.
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        url = f"http://127.0.0.1:{address[1]}"
        outcomes = [await asked(transport, base_url=url, timeout=0.3) for transport in TRANSPORTS]
        for each in waiting:
            each.close()
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error
    assert "timed out" in outcomes[0].error[0]


async def test_a_server_that_is_not_there_fails_in_the_same_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Bound but not listening: a connection is refused.
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        outcomes = [await asked(transport, base_url=url) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error


async def test_a_request_that_is_no_json_is_refused_alike() -> None:
    for value in (float("nan"), object()):
        outcome, requests = await both(OK, replace(REQUEST, options={"metadata": {"x": value}}))
        assert outcome.error
        assert outcome.error[1] == "invalid_request"
        assert requests == []


async def test_a_session_asks_again_as_often_and_as_late() -> None:
    """Retries are the session's; what it needs to decide on them must come out of both transports."""

    async def tried(transport: str) -> tuple[list[Any], int, str]:
        script = [sse.Refusal(529, "overloaded_error", headers={"retry-after-ms": "20"}), sse.cut(OK, 0), OK]
        with sse.SseServer(script) as server:
            provider = AnthropicProvider(transport=transport, base_url=server.url, api_key="k")
            async with Session(Board.load(), provider, model="m", retries=Retries(first=0.01)) as session:
                events = session.events()
                outcome = await session.run("Go")
            seen = [event async for event in events if event.kind == "request_retried"]
            await provider.aclose()
        first, second = (event.data for event in seen)
        same = second["reason"].replace(server.url, "URL")
        return [first["reason"], first["delay"], same], len(server.requests), outcome.text

    assert await tried("sdk") == await tried("thin")


PROXIES: dict[str, dict[str, str]] = {
    "HTTP_PROXY": {"HTTP_PROXY": "{url}"},
    "ALL_PROXY": {"ALL_PROXY": "{url}"},
    "without a scheme": {"http_proxy": "{address}"},
    "with credentials": {"HTTP_PROXY": "http://user:pa%20ss@{address}"},
    "NO_PROXY": {"HTTP_PROXY": "{url}", "NO_PROXY": "127.0.0.1"},
    "NO_PROXY *": {"HTTP_PROXY": "{url}", "NO_PROXY": "*"},
    "NO_PROXY for others": {"HTTP_PROXY": "{url}", "NO_PROXY": "example.com,localhost,::1,10.0.0.0/8"},
    "only for https": {"HTTPS_PROXY": "{url}"},
}


@pytest.mark.parametrize("env", PROXIES.values(), ids=PROXIES)
async def test_the_same_proxy_is_used(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    with Proxy() as proxy:
        for name, value in env.items():
            monkeypatch.setenv(name, value.format(url=proxy.url, address=proxy.address))
        outcome, requests = await both(OK)
    assert outcome.error is None
    assert_same(requests)
    expected = 0 if "NO_PROXY" in env and "example" not in env["NO_PROXY"] else 2
    assert len(proxy.asked) == (0 if "HTTPS_PROXY" in env else expected)
    assert len(set(proxy.asked)) <= 1, "both transports ask the proxy for the same"


@pytest.mark.parametrize("value", ["nonsense://x", "socks5://127.0.0.1:1"])
async def test_a_proxy_that_cannot_be_used_is_named_alike(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", value)
    outcome, requests = await both(OK)
    assert outcome.error
    assert outcome.error[1] == "invalid_request"
    assert outcome.error[0].startswith("HTTP_PROXY ")
    assert requests == []


async def test_a_proxy_that_refuses_is_reported_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    with Proxy(refuses=True) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        outcome, requests = await both(OK)
    assert outcome.error
    assert requests == []


@contextmanager
def encrypted(authority: trustme.CA, host: str = "127.0.0.1") -> Iterator[Any]:
    """The scripted server behind TLS, with a certificate of this authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    server = sse.SseServer(lambda received: OK)
    server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
    server._server.handle_error = lambda *about: None  # A client that distrusts us hangs up.
    with server:
        yield server


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR", ""])
async def test_a_custom_authority_is_trusted_alike(
    variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = trustme.CA()
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    if variable:
        monkeypatch.setenv(variable, str(file) if variable.endswith("FILE") else hashed(file))
    with encrypted(authority) as server:
        url = server.url.replace("http:", "https:")
        outcomes = [await asked(transport, base_url=url) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    if variable:
        assert outcomes[0].error is None
        assert_same(server.requests)
    else:
        assert outcomes[0].error
        assert "certificate" in outcomes[0].error[0].lower()
        assert server.requests == []


def hashed(file: Path) -> str:
    """A folder in which OpenSSL finds the certificate by the hash of its subject."""
    import subprocess

    command = ["openssl", "x509", "-hash", "-noout", "-in", str(file)]
    try:
        name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    folder = file.parent / "certificates"
    folder.mkdir()
    (folder / f"{name}.0").write_bytes(file.read_bytes())
    return str(folder)


async def test_a_certificate_for_another_host_is_refused_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with encrypted(authority, "example.com") as server:
        url = server.url.replace("http:", "https:")
        outcomes = [await asked(transport, base_url=url) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error
    assert server.requests == []


async def test_an_encrypted_request_is_tunnelled_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with encrypted(authority) as server, Proxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        url = server.url.replace("http:", "https:")
        outcomes = [await asked(transport, base_url=url) for transport in TRANSPORTS]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error is None
    assert_same(server.requests)
    assert [method for method, _, _ in proxy.asked] == ["CONNECT", "CONNECT"]


async def test_a_redirect_from_http_to_https_checks_the_certificate() -> None:
    authority = trustme.CA()
    with encrypted(authority) as server:
        there = server.url.replace("http:", "https:") + "/v1/messages"
        outcome, _ = await both(sse.Refusal(307, raw=b"", headers={"location": there}))
    assert outcome.error
    assert "certificate" in outcome.error[0].lower()
    assert server.requests == []


def test_the_version_is_that_of_the_installed_sdk() -> None:
    from anthropic._constants import ANTHROPIC_API_VERSION

    assert VERSION == ANTHROPIC_API_VERSION
