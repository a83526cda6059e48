"""The provider: a request in, the events of the answer out, as plain dicts."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from pegboard import Provider, ProviderError, hookimpl
from pegboard_anthropic.clients import SERVICES, Service, load_sdk, make_client
from pegboard_anthropic.failures import refusal, sdk_errors, translated
from pegboard_anthropic.sse import EventDecoder

PATH = "/v1/messages"
SILENCE_SECONDS = 600.0
"""How long an answer may pause. The API sends a ping every few seconds while a model thinks."""
DRAIN_SECONDS = 0.5
"""How long to wait for the end of an answer that is complete, so that its connection can be used again."""


class AnthropicProvider:
    """Claude models. Nothing is imported or opened before the first request; nothing is ever repeated.

    Without arguments, the address and the key come from `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY` and
    `ANTHROPIC_AUTH_TOKEN`. `client` is one of `first-party`, `bedrock`, `vertex` and `foundry`. Each event loop gets a
    client of its own, whose connections are reused until `aclose()`.
    """

    name = "anthropic"

    def __init__(
        self,
        client: str = "first-party",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = SILENCE_SECONDS,
    ) -> None:
        if client not in SERVICES:
            raise ValueError(f"{client!r} is not a client. Use one of {', '.join(SERVICES)}.")
        if api_key is not None and not SERVICES[client].takes_key:
            raise ValueError(f"{SERVICES[client].label} takes no API key. {SERVICES[client].access}")
        self.client, self.base_url, self.timeout = client, base_url, timeout
        self._api_key = api_key
        self._opened: RunVar[Any] = RunVar("pegboard_anthropic client", None)

    def __repr__(self) -> str:
        return f"<provider anthropic ({self.client})>"

    async def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """The events of one answer, each as soon as it has arrived, in the shape of the Messages API.

        What goes wrong is a `ProviderError`, also in the middle of an answer; an answer without `message_stop` is one.
        Cancelling or closing the generator closes the connection, and so stops the model, at once.
        """
        service, client = SERVICES[self.client], await self._connected()
        read = _raw_events if self.client == "first-party" else _typed_events
        try:
            async with aclosing(read(client, {**request, "stream": True}, service)) as events:
                async for event in events:
                    if event.get("type") == "error":
                        raise refusal(event, service)
                    yield event
                    if event.get("type") == "message_stop":
                        await _drain(events)
                        return
        except sdk_errors() as error:
            raise translated(error, service, str(client.base_url).rstrip("/")) from error
        raise ProviderError(
            f"The answer of {service.label} broke off before its end.", kind="connection", retryable=True
        )

    async def aclose(self) -> None:
        """Close the connections of this event loop. The next request opens new ones."""
        client = self._opened.get()
        self._opened.set(None)
        if client is not None:
            await client.close()

    async def _connected(self) -> Any:
        if self._opened.get() is None:
            # The import takes seconds and would stop everything else on the loop.
            await anyio.to_thread.run_sync(load_sdk, self.client, abandon_on_cancel=True)
        if self._opened.get() is None:
            self._opened.set(
                make_client(self.client, base_url=self.base_url, api_key=self._api_key, timeout=self.timeout)
            )
        return self._opened.get()


async def _raw_events(client: Any, body: dict[str, Any], service: Service) -> AsyncGenerator[dict[str, Any], None]:
    """Events parsed here: building the SDK's typed ones costs 0.4 s in the first answer and drops pings."""
    import httpx2

    response = await client.post(PATH, body=body, cast_to=httpx2.Response, stream=True)
    chunks, decoder = response.aiter_bytes(), EventDecoder()
    try:
        _require_events(response, service)
        async for chunk in chunks:
            for name, data in decoder.feed(chunk):
                yield _parsed(name, data)
    finally:
        await _abandon(chunks)
        await response.aclose()


async def _typed_events(client: Any, body: dict[str, Any], service: Service) -> AsyncGenerator[dict[str, Any], None]:
    """Events read by the SDK, for services that wrap them in a format of their own."""
    from anthropic import AsyncStream
    from anthropic.types import Message, RawMessageStreamEvent

    events = AsyncStream[RawMessageStreamEvent]
    try:
        stream = await client.post(PATH, body=body, cast_to=Message, stream=True, stream_cls=events)
    except sdk_errors():
        raise
    except Exception as error:  # the cloud's own library looks for credentials here, and raises what it likes
        words = f"{service.label} cannot be asked: {type(error).__name__}: {error}. {service.access}"
        raise ProviderError(words, kind="authentication") from error
    items = aiter(stream)
    try:
        async for event in items:
            yield event.to_dict(mode="json", warnings=False)
    finally:
        await _abandon(items)
        await stream.close()


def _require_events(response: Any, service: Service) -> None:
    kind = response.headers.get("content-type", "")
    if kind and not kind.startswith("text/event-stream"):
        raise ProviderError(
            f"{response.url} answered with {kind} instead of a stream of events. "
            f"Something else than {service.label} may be listening there; check ANTHROPIC_BASE_URL."
        )


def _parsed(name: str, data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise ProviderError(f"The answer holds an event {name!r} that is not a JSON object.", retryable=True)
    return {"type": name, **event}


async def _abandon(items: AsyncIterator[Any]) -> None:
    """Stop reading for good: a cancelled read unwinds every generator below it and closes the connection.

    Closing only the outermost generator leaves those of the HTTP library to the garbage collector, which trio reports.
    """
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            async for _ in items:
                pass
        except sdk_errors():
            pass


async def _drain(events: AsyncGenerator[dict[str, Any], None]) -> None:
    """Read to the end of the response; the answer is complete, so nothing that happens here matters."""
    with anyio.move_on_after(DRAIN_SECONDS):
        try:
            async for _ in events:
                pass
        except sdk_errors():
            pass


DEFAULT = AnthropicProvider()


@hookimpl
def register_providers() -> list[Provider]:
    return [DEFAULT]
