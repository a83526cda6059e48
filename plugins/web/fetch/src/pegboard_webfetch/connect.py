"""The one place that opens sockets: it dials addresses that the guard has checked, and nothing else.

The HTTP layer asks for a host name; what it gets is a connection to a pinned address. Certificates and the Host header
still go by the name, so a server cannot tell the difference, and a second DNS answer never matters.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from socket import SOCK_STREAM
from urllib.parse import unquote, urlsplit

import anyio
import httpcore2

from pegboard_webfetch.guard import Target

CONNECT_SECONDS = 10.0
MOST_ADDRESSES = 4
"""How many addresses of a host are tried; they share the connection timeout."""

Stream = httpcore2.AsyncNetworkStream
Dial = Callable[[str, int, float], Awaitable[Stream]]
"""Opens a connection to an address and port within some seconds."""


async def dial(address: str, port: int, seconds: float) -> Stream:
    """Open a TCP connection."""
    return await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout=seconds)


async def resolve(host: str, port: int) -> list[str]:
    """Ask the system's resolver for every address of a name."""
    found = await anyio.getaddrinfo(host, port, type=SOCK_STREAM)
    # An address with a zone, such as fe80::1%eth0, is checked without it and is link-local anyway.
    return [str(entry[4][0]).partition("%")[0] for entry in found]


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """A network backend that can reach only the checked host."""

    def __init__(self, target: Target, dial: Dial) -> None:
        self._target, self._dial = target, dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the library's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> Stream:
        """Dial the pinned addresses in turn; a host that was not checked cannot be reached."""
        if (host, port) != (self._target.url.host, self._target.url.port):
            raise httpcore2.ConnectError(f"{host}:{port} was not checked.")
        addresses = self._target.addresses[:MOST_ADDRESSES]
        share = (timeout or CONNECT_SECONDS) / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._dial(address, port, share)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._dial(addresses[-1], port, share)


class ProxyBackend(httpcore2.AsyncNetworkBackend):
    """A network backend that connects to the user's proxy, at any address."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the library's
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> Stream:
        """Dial the proxy by its name."""
        return await self._dial(host, port, timeout or CONNECT_SECONDS)


@asynccontextmanager
async def request(
    target: Target,
    headers: Mapping[str, str],
    *,
    dial: Dial = dial,
    proxy: str | None = None,
    connect_seconds: float = CONNECT_SECONDS,
) -> AsyncIterator[httpcore2.Response]:
    """GET a checked target. The body is read by the caller; the connection is closed at the end, however it ends."""
    url = target.url
    # The parts are passed as they were checked, so that no second parser reads the URL.
    place = httpcore2.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target)
    extensions = {"timeout": {"connect": connect_seconds}, "sni_hostname": url.host}
    sent = [("Host", url.authority), *headers.items(), ("Connection", "close")]
    async with (
        _pool(target, dial, proxy) as pool,
        pool.stream("GET", place, headers=sent, extensions=extensions) as answer,
    ):
        yield answer


def _pool(target: Target, dial: Dial, proxy: str | None) -> httpcore2.AsyncConnectionPool:
    context = _ssl_context() if target.url.scheme == "https" else None
    if proxy is None:
        return httpcore2.AsyncConnectionPool(context, network_backend=PinnedBackend(target, dial))
    parts = urlsplit(proxy)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise httpcore2.ProxyError("Only http and https proxies can be used.")
    user = (unquote(parts.username or ""), unquote(parts.password or ""))
    return httpcore2.AsyncHTTPProxy(
        httpcore2.URL(scheme=parts.scheme, host=parts.hostname, port=parts.port or _port_of(parts.scheme), target="/"),
        proxy_auth=user if any(user) else None,
        ssl_context=context,
        proxy_ssl_context=_ssl_context() if parts.scheme == "https" else None,
        network_backend=ProxyBackend(dial),
    )


def _port_of(scheme: str) -> int:
    return 443 if scheme == "https" else 80


_contexts: dict[tuple[str | None, str | None], ssl.SSLContext] = {}


def _ssl_context() -> ssl.SSLContext:
    """The system's certificates, or those of SSL_CERT_FILE and SSL_CERT_DIR. Loaded once: it is slow."""
    key = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    if key not in _contexts:
        _contexts[key] = httpcore2.default_ssl_context()
    return _contexts[key]
