"""One request and the events of its answer, read in one of two ways and let go of properly."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import anyio

from pegboard import ProviderError
from pegboard_anthropic.clients import Service
from pegboard_anthropic.failures import sdk_errors
from pegboard_anthropic.sse import EventDecoder

# Imports happen inside functions: the SDK is slow to import, and only a request needs it.

PATH = "/v1/messages"
DRAIN_SECONDS = 0.5
"""How long to wait for the end of an answer that is complete, so that its connection can be used again."""


async def raw_events(client: Any, body: dict[str, Any], service: Service) -> AsyncGenerator[dict[str, Any], None]:
    """Events parsed here: building the SDK's typed ones costs 0.4 s in the first answer and drops pings."""
    import httpx2

    response = await _post(client, body, cast_to=httpx2.Response)
    chunks, decoder = response.aiter_bytes(), EventDecoder()
    try:
        _require_events(response, service)
        async for chunk in chunks:
            for name, data in decoder.feed(chunk):
                yield _parsed(name, data)
    finally:
        await _abandon(chunks)
        await response.aclose()


async def typed_events(client: Any, body: dict[str, Any], service: Service) -> AsyncGenerator[dict[str, Any], None]:
    """Events read by the SDK, for services that wrap them in a format of their own."""
    from anthropic import AsyncStream
    from anthropic.types import Message, RawMessageStreamEvent

    try:
        stream = await _post(client, body, cast_to=Message, stream_cls=AsyncStream[RawMessageStreamEvent])
    except ProviderError:
        raise
    except sdk_errors():
        raise
    except Exception as error:  # the cloud's own library looks for credentials here, and raises what it likes
        reason = f"The request to {service.label} failed: {type(error).__name__}: {str(error).rstrip('.')}."
        raise ProviderError(f"{reason} {service.access}", kind="authentication") from error
    items = aiter(stream)
    try:
        async for event in items:
            yield event.to_dict(mode="json", warnings=False)
    finally:
        await _abandon(items)
        await stream.close()


async def _post(client: Any, body: dict[str, Any], **how: Any) -> Any:
    try:
        try:
            return await client.post(PATH, body=body, stream=True, **how)
        except UnicodeEncodeError:
            return await client.post(PATH, body=_whole_characters(body), stream=True, **how)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"The request cannot be written as JSON: {error}.", kind="invalid_request") from error


def _whole_characters(body: dict[str, Any]) -> Any:
    """The same request with U+FFFD for every half of a surrogate pair, as in a file name that is not UTF-8.

    One such name in a tool's result would otherwise make every later request of the conversation impossible.
    """
    text = json.dumps(body, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _require_events(response: Any, service: Service) -> None:
    kind = response.headers.get("content-type", "")
    if kind and not kind.startswith("text/event-stream"):
        raise ProviderError(
            f"{response.url} answered with {kind} instead of a stream of events. "
            f"It may not be {service.label}; check ANTHROPIC_BASE_URL."
        )


def _parsed(name: str, data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise ProviderError(f"The answer contains an event {name!r} that is not a JSON object.", retryable=True)
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


async def drain(events: AsyncGenerator[dict[str, Any], None]) -> None:
    """Read to the end of the response; the answer is complete, so nothing that happens here matters."""
    with anyio.move_on_after(DRAIN_SECONDS):
        try:
            async for _ in events:
                pass
        except sdk_errors():
            pass
