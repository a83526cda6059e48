"""The SDK: the reference for the first-party API, and the only way to the other services."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pegboard import ProviderError
from pegboard_anthropic.credentials import check_secret, missing
from pegboard_anthropic.events import PATH, PUBLIC_HEADERS, parsed_events
from pegboard_anthropic.failures import known_errors
from pegboard_anthropic.services import FIRST_PARTY, SERVICES, Service
from pegboard_http import json_bytes
from pegboard_http.answers import abandon
from pegboard_http.clients import CONNECT_SECONDS, proxies

if TYPE_CHECKING:
    import anthropic

# Imports happen inside functions: the client is slow to import, and only a request needs it.


def load(name: str) -> None:
    """Import the SDK, and what else a service needs; seconds the first time, so call it in a thread."""
    service = SERVICES[name]
    import_module("anthropic")
    if service.needs:
        try:
            import_module(service.needs)
        except ImportError as error:
            raise ProviderError(
                f"{service.title} needs the module {service.needs}, which is not installed. "
                f"Run: pip install 'anthropic[{name}]'",
                kind="invalid_request",
            ) from error


class SdkTransport:
    """Sends requests through a client of the SDK."""

    def __init__(self, name: str, *, base_url: str | None, api_key: str | None, timeout: float) -> None:
        self.service = SERVICES[name]
        self._client = make_client(name, base_url=base_url, api_key=api_key, timeout=timeout)
        self.address = str(self._client.base_url).rstrip("/")
        self._read = self._raw_events if name == FIRST_PARTY else self._typed_events

    def events(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        """The events of one answer as they come."""
        return self._read(dict(body), {"headers": dict(headers)} if headers else {})

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _raw_events(self, body: dict[str, Any], options: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Events parsed here: building the SDK's typed ones costs 0.4 s in the first answer and drops pings."""
        import httpx2

        response = await self._post(body, cast_to=httpx2.Response, options=options)
        async with aclosing(parsed_events(response, self.service)) as events:
            async for event in events:
                yield event

    async def _typed_events(
        self, body: dict[str, Any], options: dict[str, Any]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Events read by the SDK, for services that wrap them in a format of their own."""
        from anthropic import AsyncStream
        from anthropic.types import Message, RawMessageStreamEvent

        stream_cls = AsyncStream[RawMessageStreamEvent]
        try:
            stream = await self._post(body, cast_to=Message, stream_cls=stream_cls, options=options)
        except ProviderError:
            raise
        except known_errors():
            raise
        except Exception as error:  # the cloud's own library looks for credentials here, and raises what it likes
            service = self.service
            reason = f"The request to {service.label} failed: {type(error).__name__}: {str(error).rstrip('.')}."
            raise ProviderError(f"{reason} {service.access}", kind="authentication") from error
        items = aiter(stream)
        try:
            async for event in items:
                yield event.to_dict(mode="json", warnings=False)
        finally:
            await abandon(items)
            await stream.close()

    async def _post(self, body: dict[str, Any], **how: Any) -> Any:
        try:
            try:
                return await self._client.post(PATH, body=body, stream=True, **how)
            except UnicodeEncodeError:
                whole = json.loads(json_bytes(body))
                return await self._client.post(PATH, body=whole, stream=True, **how)
        except (TypeError, ValueError, RecursionError) as error:
            raise ProviderError(f"The request cannot be written as JSON: {error}.", kind="invalid_request") from error


def make_client(name: str, *, base_url: str | None, api_key: str | None, timeout: float) -> Any:
    """A client that never repeats a request on its own; everything not given is read from the environment."""
    import anthropic
    import httpx2

    from pegboard_http.redirects import keep_headers_home
    from pegboard_http.transport import LIMITS

    proxies()  # Says what is wrong with one; the SDK would raise whatever its libraries raise.
    service = SERVICES[name]
    patience = httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    given = {"base_url": base_url, "api_key": api_key}
    make: Callable[..., Any] = getattr(anthropic, service.client)
    try:
        client = make(
            **{option: value for option, value in given.items() if value is not None},
            timeout=patience,
            max_retries=0,  # No retries here: the session retries, because it knows which calls have already run.
            open_telemetry=False,  # What a host traces is its own choice, not that of a library below it.
            http_client=anthropic.DefaultAsyncHttpxClient(
                timeout=patience, limits=LIMITS, event_hooks={"request": [keep_headers_home(PUBLIC_HEADERS)]}
            ),
        )
    except (anthropic.AnthropicError, ValueError) as error:
        raise ProviderError(
            f"{service.title} cannot be used: {str(error).rstrip('.')}. {service.access}", kind="authentication"
        ) from error
    if name == FIRST_PARTY:
        _check_credentials(client, service)
    return client


def _check_credentials(client: anthropic.AsyncAnthropic, service: Service) -> None:
    key = client.api_key or client.auth_token
    check_secret(key, "key" if client.api_key else "token", service)
    sent = {header.lower() for header in client.default_headers}
    if key is None and client.credentials is None and not sent & {"authorization", "x-api-key"}:
        raise missing(service)
