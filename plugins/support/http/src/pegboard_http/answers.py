"""Read the events of an answer, and let go of it properly."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any

import anyio

from pegboard import ProviderError
from pegboard_http.failures import http_errors, without_password
from pegboard_http.sse import EventDecoder

if TYPE_CHECKING:
    import httpx2

DRAIN_SECONDS = 0.5
"""How long to wait for the end of an answer that is complete, so that its connection can be used again."""
LARGEST_REFUSAL = 1_000_000
"""How many bytes of a refusal are read: a server may send them without end."""

LARGEST_EVENT = 16_000_000
"""How many bytes one event may have. The longest answer of a model as a single event has far fewer."""


async def read_events(response: httpx2.Response, label: str, setting: str) -> AsyncGenerator[tuple[str, bytes], None]:
    """The name and data of each event of a streamed response, which is closed at the end.

    An answer that is no stream of events is a `ProviderError`; `label` names who should have answered, and `setting`
    where its address comes from.
    """
    chunks, decoder = response.aiter_bytes(), EventDecoder()
    try:
        kind = response.headers.get("content-type", "")
        if kind and not kind.startswith("text/event-stream"):
            raise ProviderError(
                f"{without_password(str(response.url))} answered with {kind} instead of a stream of events. "
                f"It may not be {label}; check {setting}."
            )
        async for chunk in chunks:
            for event in decoder.feed(chunk):
                yield event
            if decoder.pending > LARGEST_EVENT:
                raise ProviderError(
                    f"{without_password(str(response.url))} sent an event of more than {LARGEST_EVENT:,} bytes. "
                    f"The answer was cut off there. It may not be {label}; check {setting}."
                )
    finally:
        await abandon(chunks)
        await response.aclose()


async def refusal_body(response: httpx2.Response) -> Any:
    """What a server says instead of an answer: JSON if it is, else the beginning of a text. The response is closed."""
    chunks, raw = response.aiter_bytes(), b""
    try:
        async for chunk in chunks:
            raw += chunk
            if len(raw) > LARGEST_REFUSAL:
                break
    finally:
        await abandon(chunks)
        await response.aclose()
    text = raw[:LARGEST_REFUSAL].decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


async def abandon(items: AsyncIterator[Any]) -> None:
    """Stop reading for good: a cancelled read unwinds every generator below it and closes the connection.

    Closing only the outermost generator leaves those of the HTTP library to the garbage collector, which trio reports.
    """
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            async for _ in items:
                pass
        except http_errors():
            pass


async def drain(events: AsyncGenerator[Any, None]) -> None:
    """Read to the end of the response; the answer is complete, so nothing that happens here matters."""
    with anyio.move_on_after(DRAIN_SECONDS):
        try:
            async for _ in events:
                pass
        except http_errors():
            pass
        except ProviderError:
            pass
