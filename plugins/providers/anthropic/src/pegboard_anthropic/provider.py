"""The provider: a request in, the events of the answer out."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio.to_thread
from anyio.lowlevel import RunVar

from pegboard import ProviderError, Settings, hookimpl
from pegboard_anthropic.assembler import Assembler
from pegboard_anthropic.clients import SERVICES, load_sdk, make_client
from pegboard_anthropic.deferred_tools import DEFER_LOADING, is_supported
from pegboard_anthropic.events import drain, raw_events, typed_events
from pegboard_anthropic.failures import refusal, sdk_errors, translated
from pegboard_anthropic.models import MODELS
from pegboard_anthropic.requests import body_of
from pegboard_session import Provider, ProviderEvent, Request

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
SILENCE_SECONDS = 600.0
"""How long an answer may pause. The API sends a ping every few seconds while a model thinks."""


class AnthropicProvider:
    """Claude models. Nothing is imported or opened before the first request; nothing is ever repeated.

    Without arguments, the address and the key come from `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY` and
    `ANTHROPIC_AUTH_TOKEN`. `client` is one of `first-party`, `bedrock`, `vertex` and `foundry`. Each event loop gets a
    client of its own, whose connections are reused until `aclose()`.
    """

    name = "anthropic"
    models = MODELS

    def __init__(
        self,
        client: str = "first-party",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = SILENCE_SECONDS,
        defer_loading: str = "auto",
    ) -> None:
        if defer_loading not in DEFER_LOADING:
            raise ValueError(f"defer_loading must be one of {', '.join(DEFER_LOADING)}, got {defer_loading!r}.")
        self.defer_loading = defer_loading
        if client not in SERVICES:
            raise ValueError(f"{client!r} is not a client. Use one of {', '.join(SERVICES)}.")
        if api_key is not None and not SERVICES[client].takes_key:
            raise ValueError(f"{SERVICES[client].title} takes no API key. {SERVICES[client].access}")
        self.client, self.base_url, self.timeout = client, base_url, timeout
        self._api_key = api_key
        self._opened: RunVar[Any] = RunVar("pegboard_anthropic client", None)

    def __repr__(self) -> str:
        return f"<provider anthropic ({self.client})>"

    def missing(self) -> str:
        """The variable that has to be set before a request could succeed; the other services have their own ways."""
        given = self._api_key is not None or self.client != "first-party"
        if given or any(os.environ.get(name) for name in KEYS):
            return ""
        return KEYS[0]

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """The events of one answer, each as soon as it has arrived.

        What goes wrong is a `ProviderError`, also in the middle of an answer; an answer without its end is one.
        Cancelling or closing the generator closes the connection, and so stops the model, at once.
        """
        assembler = Assembler()
        async with aclosing(self._wire_events(body_of(request, defers=self._defers(request.model)))) as events:
            async for event in events:
                for meant in assembler.feed(event):
                    yield meant

    def _defers(self, model: str) -> bool:
        """Whether the service itself loads the tools that the model fetches."""
        is_first_party = self.client == "first-party"
        return self.defer_loading == "on" or (
            self.defer_loading == "auto" and is_supported(model, is_first_party=is_first_party, base_url=self.base_url)
        )

    async def _wire_events(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        service, client = SERVICES[self.client], await self._connected()
        read = raw_events if self.client == "first-party" else typed_events
        try:
            async with aclosing(read(client, {**body, "stream": True}, service)) as events:
                async for event in events:
                    if event.get("type") == "error":
                        raise refusal(event, service)
                    yield event
                    if event.get("type") == "message_stop":
                        await drain(events)
                        return
        except sdk_errors() as error:
            raise translated(error, service, str(client.base_url).rstrip("/")) from error
        raise ProviderError(
            f"The answer of {service.label} ended before it was complete.", kind="connection", retryable=True
        )

    async def aclose(self) -> None:
        """Close the connections of this event loop. The next request opens new ones."""
        client = self._opened.get()
        self._opened.set(None)
        if client is not None:
            await client.close()

    async def _connected(self) -> Any:
        if self._opened.get() is None:
            # In a thread: the import takes seconds and would block the event loop.
            await anyio.to_thread.run_sync(load_sdk, self.client, abandon_on_cancel=True)
        if self._opened.get() is None:
            self._opened.set(
                make_client(self.client, base_url=self.base_url, api_key=self._api_key, timeout=self.timeout)
            )
        return self._opened.get()


DEFAULT = AnthropicProvider()


@hookimpl
def register_providers(settings: Settings) -> list[Provider]:
    chosen, defer_loading = settings.get("anthropic.client"), settings.get("anthropic.deferLoading")
    if (chosen, defer_loading) == (DEFAULT.client, DEFAULT.defer_loading):
        return [DEFAULT]
    return [AnthropicProvider(chosen, defer_loading=defer_loading)]
