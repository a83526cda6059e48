"""Connections that probe a quiet line, and that read certificates only where one is checked."""

from __future__ import annotations

import socket
from functools import cached_property

import httpx2

KEEP_ALIVE_SECONDS = 60.0
"""How long an idle connection is kept: tools often run for longer than the five seconds that are usual."""
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=KEEP_ALIVE_SECONDS)
PROBES = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
)
"""Signs of life on a quiet connection: routers on the way drop one on which a model thinks for minutes."""


class Transport(httpx2.AsyncBaseTransport):
    """The library's own transport, once for http and once for https, each made by its first request.

    Reading the certificates of the system takes 80 ms, which a server on this machine need not cost.
    """

    def __init__(self, proxy: httpx2.Proxy | None = None) -> None:
        self._proxy = proxy

    @cached_property
    def _plain(self) -> httpx2.AsyncHTTPTransport:
        # Nothing is encrypted here, so nothing is left unchecked. A redirect to https takes the other transport, and
        # the library gives an encrypted proxy a context of its own.
        return httpx2.AsyncHTTPTransport(verify=False, limits=LIMITS, proxy=self._proxy, socket_options=PROBES)

    @cached_property
    def _encrypted(self) -> httpx2.AsyncHTTPTransport:
        return httpx2.AsyncHTTPTransport(limits=LIMITS, proxy=self._proxy, socket_options=PROBES)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it over the transport of its scheme; one that neither knows is refused by the library."""
        chosen = self._plain if request.url.scheme == "http" else self._encrypted
        return await chosen.handle_async_request(request)

    async def aclose(self) -> None:
        """Close what was opened."""
        for name in ("_plain", "_encrypted"):
            if opened := self.__dict__.pop(name, None):
                await opened.aclose()
