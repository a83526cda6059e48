"""What may go along when a server sends a request on to another one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

PLAIN = ("accept", "accept-encoding", "content-type", "user-agent")
OF_A_CONNECTION = ("connection", "content-length", "host", "transfer-encoding")
FIRST = "pegboard_first_url"


def keep_headers_home(public: Collection[str] = ()) -> Callable[[httpx2.Request], Awaitable[None]]:
    """A request hook of a client: another server than the first gets no header but plain ones and these.

    The library itself takes back only `Authorization`; a key may just as well be in `X-Api-Key` or `Api-Key`.
    """
    kept = {*PLAIN, *OF_A_CONNECTION, *(name.lower() for name in public)}

    async def take_back(request: httpx2.Request) -> None:
        first: httpx2.URL = request.extensions.setdefault(FIRST, request.url)  # The library hands it on.
        if not _is_same_server(first, request.url):
            for name in [name for name in request.headers if name.lower() not in kept]:
                del request.headers[name]

    return take_back


def _is_same_server(first: httpx2.URL, now: httpx2.URL) -> bool:
    """The same address, or the same name with encryption."""
    if (first.scheme, first.host, first.port) == (now.scheme, now.host, now.port):
        return True
    return (first.scheme, now.scheme, first.port, now.port) == ("http", "https", None, None) and first.host == now.host
