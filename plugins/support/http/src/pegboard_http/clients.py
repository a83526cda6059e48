"""One way to open an HTTP client: patient while a model thinks, through proxies, and with the system's certificates."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pegboard import ProviderError

if TYPE_CHECKING:
    import httpx2

# Imports happen inside functions: the client is slow to import, and only a request needs it.

CONNECT_SECONDS = 10.0


def open_client(
    timeout: float, public_headers: Collection[str] = (), *, uses_proxies: bool = True
) -> httpx2.AsyncClient:
    """A client that waits `timeout` seconds for the next byte and follows redirects.

    Headers that may be secret stay with the first server; `public_headers` may go on to another.

    Proxies come from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, certificates from the system or from
    `SSL_CERT_FILE` and `SSL_CERT_DIR`. What must not leave this machine is sent without proxies.
    """
    import httpx2

    from pegboard_http.redirects import keep_headers_home
    from pegboard_http.transport import Transport

    told = proxies() if uses_proxies else {}
    mounts = {where: Transport(httpx2.Proxy(proxy)) if proxy else None for where, proxy in told.items()}
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        follow_redirects=True,
        transport=Transport(),  # With one given, the library leaves proxies to us: its own have no socket options.
        mounts=mounts,
        event_hooks={"request": [keep_headers_home(public_headers)]},
    )


def proxies() -> dict[str, str | None]:
    """Which addresses go through which proxy, and which through none, in the patterns of the HTTP library.

    A proxy that cannot be used is a `ProviderError`.
    """
    from urllib.request import getproxies  # Imported late: it takes 20 ms.

    told = getproxies()
    found: dict[str, str | None] = {}
    for scheme in ("http", "https", "all"):
        if proxy := told.get(scheme):
            found[f"{scheme}://"] = _usable(proxy if "://" in proxy else f"http://{proxy}", f"{scheme.upper()}_PROXY")
    for host in (word.strip() for word in told.get("no", "").split(",")):
        if host == "*":
            return {}
        if host and (pattern := _pattern(host)):
            found[pattern] = None
    return found


def _usable(proxy: str, variable: str) -> str:
    """The address, if the library can speak to it. It may contain a password, so it is not quoted."""
    kind = proxy.partition("://")[0].lower()
    if kind not in ("http", "https", "socks5", "socks5h"):
        reason = f"{variable} is not the address of a proxy. It must begin with http://, https:// or socks5://."
        raise ProviderError(reason, kind="invalid_request")
    if kind.startswith("socks") and not find_spec("socksio"):
        reason = f"{variable} names a SOCKS proxy, which needs the package socksio. Run: pip install 'httpx2[socks]'"
        raise ProviderError(reason, kind="invalid_request")
    return proxy


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
