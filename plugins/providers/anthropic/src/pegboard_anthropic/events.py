"""What both transports know about the wire."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from pegboard import ProviderError
from pegboard_anthropic.services import Service
from pegboard_http import read_events

if TYPE_CHECKING:
    import httpx2

PATH = "/v1/messages"
ADDRESS = "ANTHROPIC_BASE_URL"
PUBLIC_HEADERS = ("anthropic-version", "anthropic-beta")
"""What may go on to another server, where the first redirects to it."""


class Transport(Protocol):
    """A way to send a request and read the events of its answer."""

    service: Service
    address: str

    def events(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        """The events of one answer; `headers` are for this request only."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


async def parsed_events(response: httpx2.Response, service: Service) -> AsyncGenerator[dict[str, Any], None]:
    """The events of a response as JSON; the type of one is its name where its data do not say otherwise."""
    async with aclosing(read_events(response, service.label, ADDRESS)) as events:
        async for name, data in events:
            try:
                event = json.loads(data)
            except (ValueError, RecursionError):
                event = None
            if not isinstance(event, dict):
                reason = f"The answer contains an event {name!r} that is not a JSON object."
                raise ProviderError(reason, retryable=True)
            yield {"type": name, **event}
