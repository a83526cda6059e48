"""One request to a search service: bounded in time and size, without redirects, and with a key that stays secret.

No message here quotes what the service or the HTTP library said: either may repeat the key.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from pegboard import ProviderError, Settings, ToolError
from pegboard_http import http_errors, open_client, wait_asked
from pegboard_http.answers import abandon

if TYPE_CHECKING:
    import httpx2

LARGEST = 2_000_000
"""How many bytes an answer may have."""
AGENT = "pegboard-websearch/0.1 (searches for the user of an LLM agent)"
TELL = "Tell the user."
LATER = "Try again later, or continue without it."


@dataclass(frozen=True, slots=True)
class Service:
    """A search service: what it is called, where it is, and its key."""

    name: str
    url: str
    key: str = field(default="", repr=False)
    seconds: float = 20.0

    @property
    def host(self) -> str:
        """The host, for messages: an address may contain a password or a key."""
        return urlsplit(self.url).hostname or "?"

    def check(self) -> None:
        """Say what is wrong with the settings before anything is sent."""
        try:
            parts = urlsplit(self.url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            self.refuse("websearch.url is not an address. It must begin with https:// or http://.")
        if not (self.key.isascii() and self.key.isprintable() and self.key == self.key.strip()):
            self.refuse("websearch.key contains spaces, line breaks or special characters.")
        if self.key and parts.scheme == "http" and not _is_this_machine(self.host):
            self.refuse("websearch.url begins with http://, which would send the key without encryption. Use https://.")

    def refuse(self, reason: str) -> None:
        """Raise what keeps this service from being used."""
        raise ToolError(f"{self.name} cannot be used: {reason}", code="unsupported", remedy=TELL)


def key_of(settings: Settings) -> str:
    """The key in the settings, or in the environment variable that they name."""
    given: str = settings.get("websearch.key", None) or ""
    if not given.startswith("$"):
        return given
    if given[1:] not in os.environ:
        reason = f"websearch.key names the environment variable {given[1:]}, which is not set."
        raise ToolError(reason, code="unsupported", remedy=TELL)
    return os.environ[given[1:]]


async def ask(service: Service, method: str, headers: Mapping[str, str], **sent: Any) -> Any:
    """The answer of a service as JSON. Everything else is a `ToolError`."""
    service.check()
    asked = {"accept": "application/json", "accept-encoding": "identity", "user-agent": AGENT, **headers}
    try:
        with anyio.fail_after(service.seconds):
            # Plain http with a key is for this machine only, and a proxy may be on another.
            async with open_client(service.seconds, uses_proxies=not _is_this_machine(service.host)) as client:
                request = client.build_request(method, service.url, headers=asked, **sent)
                response = await client.send(request, stream=True, follow_redirects=False)
                try:
                    _refuse_status(service, response)
                    raw = await _body(service, response)
                finally:
                    await response.aclose()
    except TimeoutError:
        raise _failed(service, f"did not answer within {service.seconds:g} seconds", "timeout") from None
    except ProviderError as error:  # About a proxy in the environment; it quotes no address.
        raise ToolError(str(error), code="unsupported", remedy=TELL) from None
    except http_errors() as error:
        raise _http_failure(service, error) from None
    return _parsed(service, raw)


def _http_failure(service: Service, error: Exception) -> ToolError:
    if "Timeout" in type(error).__name__:
        return _failed(service, f"did not answer within {service.seconds:g} seconds", "timeout")
    return _failed(service, f"cannot be reached ({type(error).__name__})", "failed")


def _refuse_status(service: Service, response: httpx2.Response) -> None:
    status = response.status_code
    if 200 <= status < 300:
        return
    if status in (401, 403):
        words = f"{service.name} at {service.host} refused the request (status {status}): the key is missing or wrong"
        more = ", or its JSON format is switched off" if service.name == "searxng" else ""
        raise ToolError(f"{words}{more}.", code="failed", remedy="Tell the user to check websearch.key.")
    if status == 429:
        wait = wait_asked(response.headers)
        when = f" It asks to wait {wait:.0f} seconds." if wait is not None else ""
        reason = f"{service.name} at {service.host} allows no more searches for now (status 429).{when}"
        raise ToolError(reason, code="failed", remedy=LATER)
    if 300 <= status < 400:
        raise _failed(service, f"redirects to another address (status {status}), which is never followed", "failed")
    raise _failed(service, f"failed with status {status}", "failed")


async def _body(service: Service, response: httpx2.Response) -> bytes:
    """The body as it comes: compressed ones were not asked for, and a small one may expand without end."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _failed(service, "sent a compressed answer, which was not asked for", "failed")
    raw, chunks = bytearray(), response.aiter_raw()
    try:
        async for chunk in chunks:
            raw += chunk
            if len(raw) > LARGEST:
                raise _failed(service, f"sent more than {LARGEST:,} bytes", "too_large")
    finally:
        await abandon(chunks)
    return bytes(raw)


def _parsed(service: Service, raw: bytes) -> Any:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _failed(service, "did not answer with a JSON object", "failed")
    return found


def _failed(service: Service, what: str, code: str) -> ToolError:
    return ToolError(f"{service.name} at {service.host} {what}.", code=code, remedy=LATER)


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
