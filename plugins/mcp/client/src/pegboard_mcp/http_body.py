"""The limit of what a server may answer over HTTP, as over its standard output. Imports the SDK's HTTP client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn

import httpx2

from pegboard_mcp.stdio import MOST_MESSAGE

Refuse = Callable[[str], NoReturn]


class BodyError(httpx2.DecodingError):
    """A body that is not read to its end."""


class LimitedBody(httpx2.AsyncByteStream):
    """The body of an answer up to the limit."""

    def __init__(self, body: Any, refuse: Refuse) -> None:
        self._body, self._refuse = body, refuse

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_MESSAGE
        async for chunk in self._body:
            left -= len(chunk)
            if left < 0:
                self._refuse(f"It sent a message of more than {MOST_MESSAGE} bytes.")
            yield chunk

    async def aclose(self) -> None:
        """Close the body."""
        await self._body.aclose()


def limited(lost: Callable[[str], None]) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that limits an answer before it is read; `lost` is told why the connection ends.

    A stream of events has a limit for each event instead.
    """

    def refuse(why: str) -> NoReturn:
        lost(why)
        raise BodyError(why)

    async def limit(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            refuse("It sent a packed answer that was not asked for.")
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = LimitedBody(response.stream, refuse)

    return limit
