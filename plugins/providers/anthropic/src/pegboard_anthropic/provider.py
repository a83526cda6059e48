"""The provider: a request in, the events of the answer out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import anyio.to_thread
from anyio.lowlevel import RunVar

from pegboard import ProviderError, Settings
from pegboard_anthropic import sdk, thin, web_search
from pegboard_anthropic.assembler import Assembler
from pegboard_anthropic.credentials import KEY, Credentials, has_profile
from pegboard_anthropic.deferred_tools import DEFER_LOADING, is_supported
from pegboard_anthropic.events import Transport
from pegboard_anthropic.failures import known_errors, refusal, translated
from pegboard_anthropic.models import MODELS
from pegboard_anthropic.requests import body_of, headers_of
from pegboard_anthropic.services import FIRST_PARTY, SERVICES
from pegboard_http import drain
from pegboard_session import Provider, ProviderEvent, Request, ServerSearch

TRANSPORTS = ("auto", "thin", "sdk")
SILENCE_SECONDS = 600.0
"""How long an answer may pause. The API sends a ping every few seconds while a model thinks."""


class AnthropicProvider:
    """Claude models. Nothing is imported or opened before the first request; nothing is ever repeated.

    Without arguments, the address and the key come from `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY` and
    `ANTHROPIC_AUTH_TOKEN`. `client` is one of `first-party`, `bedrock`, `vertex` and `foundry`. `transport` is `thin`
    for the first-party API without the SDK, `sdk`, or `auto` for the first where a key or token is enough. Each event
    loop gets connections of its own, which are reused until `aclose()`.
    """

    name = "anthropic"
    models = MODELS

    def __init__(
        self,
        client: str = FIRST_PARTY,
        *,
        transport: str = "auto",
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = SILENCE_SECONDS,
        defer_loading: str = "auto",
        search: str = "auto",
    ) -> None:
        if search not in web_search.WEB_SEARCH:
            raise ValueError(f"search must be one of {', '.join(web_search.WEB_SEARCH)}, got {search!r}.")
        self.search = search
        if defer_loading not in DEFER_LOADING:
            raise ValueError(f"defer_loading must be one of {', '.join(DEFER_LOADING)}, got {defer_loading!r}.")
        self.defer_loading = defer_loading
        if client not in SERVICES:
            raise ValueError(f"{client!r} is not a client. Use one of {', '.join(SERVICES)}.")
        if transport not in TRANSPORTS:
            raise ValueError(f"{transport!r} is not a transport. Use one of {', '.join(TRANSPORTS)}.")
        if api_key is not None and not SERVICES[client].takes_key:
            raise ValueError(f"{SERVICES[client].title} takes no API key. {SERVICES[client].access}")
        self.client, self.transport, self.base_url, self.timeout = client, transport, base_url, timeout
        self._api_key = api_key
        self._opened: RunVar[Transport | None] = RunVar("pegboard_anthropic transport", None)

    def __repr__(self) -> str:
        return f"<provider anthropic ({self.client})>"

    def missing(self) -> str:
        """The variable that has to be set before a request could succeed; the other services have their own ways."""
        if self.client != FIRST_PARTY or Credentials.found(self._api_key).suffice:
            return ""
        return "" if self.transport != "thin" and has_profile() else KEY

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """The events of one answer, each as soon as it has arrived.

        What goes wrong is a `ProviderError`, also in the middle of an answer; an answer without its end is one.
        Cancelling or closing the generator closes the connection, and so stops the model, at once.
        """
        assembler = Assembler()
        body = {**body_of(request, defers=self._defers(request.model)), "stream": True}
        async with aclosing(self._wire_events(body, headers_of(request))) as events:
            async for event in events:
                for meant in assembler.feed(event):
                    yield meant

    def search_request(self, request: Request, search: ServerSearch) -> Request | None:
        """The request with the service's own web search, where there is one."""
        is_first_party = self.client == FIRST_PARTY
        if self.search == "off" or (
            self.search == "auto" and not web_search.is_supported(is_first_party=is_first_party, base_url=self.base_url)
        ):
            return None
        return web_search.with_search(request, search)

    def search_sources(self, block: Mapping[str, Any]) -> list[dict[str, str]]:
        """What a block of an answer has found on the web."""
        return web_search.sources_of(block)

    def _defers(self, model: str) -> bool:
        """Whether the service itself loads the tools that the model fetches."""
        is_first_party = self.client == FIRST_PARTY
        return self.defer_loading == "on" or (
            self.defer_loading == "auto" and is_supported(model, is_first_party=is_first_party, base_url=self.base_url)
        )

    async def _wire_events(self, body: dict[str, Any], headers: dict[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        transport = await self._connected()
        service = transport.service
        try:
            async with aclosing(transport.events(body, headers)) as events:
                async for event in events:
                    if event.get("type") == "error":
                        raise refusal(event, service)
                    yield event
                    if event.get("type") == "message_stop":
                        await drain(events)
                        return
        except known_errors() as error:
            raise translated(error, service, transport.address) from error
        raise ProviderError(
            f"The answer from {service.label} ended before it was complete.", kind="connection", retryable=True
        )

    async def aclose(self) -> None:
        """Close the connections of this event loop. The next request opens new ones."""
        transport = self._opened.get()
        self._opened.set(None)
        if transport is not None:
            await transport.close()

    async def _connected(self) -> Transport:
        if (opened := self._opened.get()) is not None:
            return opened
        load = thin.load if self._is_thin() else partial(sdk.load, self.client)
        # In a thread: importing the SDK takes seconds and would block the event loop.
        await anyio.to_thread.run_sync(load, abandon_on_cancel=True)
        if (opened := self._opened.get()) is None:
            opened = self._open()
            self._opened.set(opened)
        return opened

    def _is_thin(self) -> bool:
        """Whether the SDK can be left out: not for another service, or for credentials that expire."""
        if self.transport == "thin" and self.client != FIRST_PARTY:
            raise ProviderError(
                f"The transport thin does not support {SERVICES[self.client].label}. "
                f"Set anthropic.transport to auto or sdk.",
                kind="invalid_request",
            )
        if self.transport == "auto":
            return self.client == FIRST_PARTY and Credentials.found(self._api_key).suffice
        return self.transport == "thin"

    def _open(self) -> Transport:
        if self._is_thin():
            return thin.ThinTransport(base_url=self.base_url, api_key=self._api_key, timeout=self.timeout)
        return sdk.SdkTransport(self.client, base_url=self.base_url, api_key=self._api_key, timeout=self.timeout)


DEFAULT = AnthropicProvider()


def providers(settings: Settings) -> list[Provider]:
    """The provider as settings want it."""
    client, transport = settings.get("anthropic.client"), settings.get("anthropic.transport")
    defer_loading, search = settings.get("anthropic.deferLoading"), settings.get("anthropic.webSearch")
    usual = (DEFAULT.client, DEFAULT.transport, DEFAULT.defer_loading, DEFAULT.search)
    if (client, transport, defer_loading, search) == usual:
        return [DEFAULT]
    return [AnthropicProvider(client, transport=transport, defer_loading=defer_loading, search=search)]
