"""One way to open an HTTP client: patient while a model thinks, through proxies, and with the system's certificates."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

# Imports happen inside functions: the client is slow to import, and only a request needs it.

CONNECT_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 60.0
"""How long an idle connection is kept: tools often run for longer than the five seconds that are usual."""
PROBES = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
)
"""Signs of life on a quiet connection: routers on the way drop one on which a model thinks for minutes."""


def open_client(timeout: float) -> httpx2.AsyncClient:
    """A client that waits `timeout` seconds for the next byte and follows redirects.

    Proxies come from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, certificates from the system or from
    `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    """
    import httpx2

    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=KEEP_ALIVE_SECONDS)
    trusted = httpx2.create_ssl_context()  # Once: reading the certificates takes longer than everything else here.

    def transport(proxy: httpx2.Proxy | None = None) -> httpx2.AsyncHTTPTransport:
        return httpx2.AsyncHTTPTransport(verify=trusted, limits=limits, proxy=proxy, socket_options=PROBES)

    mounts = {where: transport(httpx2.Proxy(proxy)) if proxy else None for where, proxy in proxies().items()}
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        follow_redirects=True,
        transport=transport(),  # With one given, the library leaves proxies to us: its own have no socket options.
        mounts=mounts,
    )


def proxies() -> dict[str, str | None]:
    """Which addresses go through which proxy, and which through none, in the patterns of the HTTP library."""
    from urllib.request import getproxies  # Imported late: it takes 20 ms.

    told = getproxies()
    found: dict[str, str | None] = {}
    for scheme in ("http", "https", "all"):
        if proxy := told.get(scheme):
            found[f"{scheme}://"] = proxy if "://" in proxy else f"http://{proxy}"
    for host in (word.strip() for word in told.get("no", "").split(",")):
        if host == "*":
            return {}
        if host and (pattern := _pattern(host)):
            found[pattern] = None
    return found


def _pattern(host: str) -> str:
    """One entry of `NO_PROXY`. A name includes the names below it; what makes no sense is ignored, as curl does."""
    from ipaddress import ip_address

    if "://" in host:
        return host
    try:
        version = ip_address(host.split("/")[0]).version
    except ValueError:
        if host.lower() == "localhost" or host.startswith("["):
            return f"all://{host}"
        return "" if "/" in host else f"all://*{host}"
    if version == 4:
        return f"all://{host}"
    address, _, subnet = host.partition("/")
    return f"all://[{address}]/{subnet}" if subnet else f"all://[{address}]"


def join_url(base: str, path: str) -> httpx2.URL:
    """The address of a path below a base address, which may have a path of its own and a query."""
    import httpx2

    url = httpx2.URL(base)
    below = url.raw_path if url.raw_path.endswith(b"/") else url.raw_path + b"/"
    return url.copy_with(raw_path=below + path.lstrip("/").encode())
