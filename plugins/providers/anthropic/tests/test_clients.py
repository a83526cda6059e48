"""The other services, as far as they can be asked without one."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from pegboard import ProviderError
from pegboard_anthropic import AnthropicProvider
from pegboard_session import OpaqueBlock

from .loopback import REQUEST, ask, failure, meant, sse


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize(
    ("client", "module", "label"),
    [("bedrock", "boto3", "Amazon Bedrock"), ("vertex", "google.auth", "Google Vertex AI")],
)
async def test_a_service_whose_extra_is_missing_says_what_to_install(client: str, module: str, label: str) -> None:
    if installed(module):
        pytest.skip(f"{module} is installed here")
    with pytest.raises(ProviderError) as caught:
        [event async for event in AnthropicProvider(client).stream(REQUEST)]
    assert str(caught.value) == (
        f"{label} needs the module {module}, which is not installed. Run: pip install 'anthropic[{client}]'"
    )
    assert (caught.value.kind, caught.value.retryable) == ("invalid_request", False)


async def test_foundry_hands_on_the_same_events() -> None:
    answer = sse.message(sse.thinking("Hm."), sse.text("Hello."), sse.tool_use("Read", {"file_path": "a.txt"}))
    with sse.SseServer([answer]) as server:
        events = await ask(server.url, client="foundry")
    assert events == meant(answer)
    assert OpaqueBlock({"type": "thinking", "thinking": "Hm.", "signature": "sig"}) in events


async def test_foundry_hands_on_blocks_and_events_that_the_sdk_does_not_know() -> None:
    whole = sse.message({"type": "hologram", "depth": 3, "nested": {"a": [1, None]}})
    answer = [whole[0], (0.0, {"type": "weather_report", "sun": True}), *whole[1:]]
    with sse.SseServer([answer]) as server:
        events = await ask(server.url, client="foundry")
    assert OpaqueBlock({"type": "hologram", "depth": 3, "nested": {"a": [1, None]}}) in events


async def test_foundry_fails_in_the_same_kinds() -> None:
    hello: Any = sse.message(sse.text("Hello."))
    script = [
        sse.Refusal(401, "authentication_error", "no"),
        [*hello[:2], (0.0, sse.error_event("overloaded_error"))],
        sse.cut(hello, 0),
        hello[:-1],
    ]
    with sse.SseServer(script) as server:
        errors = [await failure(server.url, client="foundry") for _ in script]
    assert [error.kind for error in errors] == ["authentication", "overloaded", "connection", "connection"]
    assert "Set ANTHROPIC_FOUNDRY_API_KEY" in str(errors[0])


async def test_foundry_without_credentials_names_its_own_variables() -> None:
    with pytest.raises(ProviderError, match="Set ANTHROPIC_FOUNDRY_API_KEY and ANTHROPIC_FOUNDRY_RESOURCE") as caught:
        [event async for event in AnthropicProvider("foundry").stream(REQUEST)]
    assert caught.value.kind == "authentication"


def test_an_unknown_client_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'azure' is not a client"):
        AnthropicProvider("azure")


def test_a_key_for_a_service_that_takes_none_is_refused() -> None:
    with pytest.raises(ValueError, match="Google Vertex AI takes no API key"):
        AnthropicProvider("vertex", api_key="k")


@pytest.mark.parametrize("client", ["bedrock", "vertex", "foundry"])
def test_only_the_first_party_needs_the_key_of_the_first_party(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert AnthropicProvider(client).missing() == ""
    assert AnthropicProvider().missing() == "ANTHROPIC_API_KEY"
    assert AnthropicProvider(api_key="k").missing() == ""
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")
    assert AnthropicProvider().missing() == ""
