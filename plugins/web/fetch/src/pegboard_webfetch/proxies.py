"""The proxy for a URL, by the usual environment variables: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network

from pegboard_webfetch.urls import Url


def proxy_for(url: Url, env: Mapping[str, str]) -> str | None:
    """The proxy to go through, as a URL, or None. Lower-case names win, as they do for curl."""
    for name in (f"{url.scheme}_proxy", "all_proxy"):
        # A CGI script gets any client's `Proxy:` header as HTTP_PROXY, so there only the lower-case name counts.
        upper = "" if name == "http_proxy" and "REQUEST_METHOD" in env else env.get(name.upper(), "")
        if (found := env.get(name) or upper) and not _bypassed(url, env.get("no_proxy") or env.get("NO_PROXY", "")):
            return found if "://" in found else f"http://{found}"
    return None


def _bypassed(url: Url, listed: str) -> bool:
    return any(_covers(entry, url) for entry in listed.replace(",", " ").lower().split())


def _covers(entry: str, url: Url) -> bool:
    if entry == "*":
        return True
    address = url.address
    try:
        network = ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass
    else:
        return address is not None and address in network
    host, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and not host.endswith(":"):
        if int(port) != url.port:
            return False
        entry = host
        try:
            return address is not None and address == ip_address(entry.strip("[]"))
        except ValueError:
            pass
    name = entry.removeprefix("*").removeprefix(".").removesuffix(".")
    return bool(name) and (url.host == name or url.host.endswith(f".{name}"))
