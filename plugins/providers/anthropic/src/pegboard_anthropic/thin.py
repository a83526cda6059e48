"""The first-party API without the SDK: same requests, same answers, a tenth of the time to import."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pegboard_anthropic.credentials import Credentials
from pegboard_anthropic.events import ADDRESS, PATH, PUBLIC_HEADERS, parsed_events
from pegboard_anthropic.failures import refusal
from pegboard_anthropic.services import FIRST_PARTY, SERVICES
from pegboard_http import connection_failure, http_errors, join_url, json_bytes, open_client, refusal_body

if TYPE_CHECKING:
    import httpx2

# Imports happen inside functions: the client is slow to import, and only a request needs it.

VERSION = "2026-10-21"
"""The version of the API, as the SDK of our tests sends it."""
AGENT = "pegboard-anthropic/0.1.0"
DEFAULT_ADDRESS = "https://api.anthropic.com"


def load() -> None:
    """Import what a client needs."""
    import_module("httpx2")


class ThinTransport:
    """Sends requests over the HTTP library alone. Tests hold it to what the SDK sends and makes of the answers."""

    service = SERVICES[FIRST_PARTY]

    def __init__(self, *, base_url: str | None, api_key: str | None, timeout: float) -> None:
        import httpx2

        credentials = Credentials.found(api_key)
        credentials.check(self.service)
        given = os.environ.get(ADDRESS) if base_url is None else base_url
        self.address = str(httpx2.URL(DEFAULT_ADDRESS if given is None else given)).rstrip("/")
        self._headers = {"accept": "application/json", "content-type": "application/json", "user-agent": AGENT}
        if credentials.secret is not None:
            self._headers["authorization"] = f"Bearer {credentials.secret}"
        self._headers["anthropic-version"] = VERSION
        self._headers |= {name.lower(): value for name, value in credentials.headers.items()}
        self._client = open_client(timeout, PUBLIC_HEADERS)

    async def events(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        """The events of one answer as they come. A refusal is a `ProviderError`; a lost connection is not yet one."""
        response = await self._send(json_bytes(body), headers)
        if not response.is_success:
            said = await refusal_body(response)
            raise refusal(said, self.service, status=response.status_code, headers=response.headers)
        async with aclosing(parsed_events(response, self.service)) as events:
            async for event in events:
                yield event

    async def _send(self, content: bytes, headers: Mapping[str, str]) -> httpx2.Response:
        try:
            return await self._client.send(self._request(content, headers), stream=True)
        except http_errors():
            raise
        except Exception as error:  # An impossible port, say: the libraries below do not translate everything.
            raise connection_failure(error, self.service.label, self.address) from error

    def _request(self, content: bytes, headers: Mapping[str, str]) -> httpx2.Request:
        import httpx2

        url = join_url(self.address, PATH)
        sent = httpx2.Headers({**self._headers, **{name.lower(): value for name, value in headers.items()}}, "utf-8")
        # Certificates cannot name a host with an underscore.
        others = {"sni_hostname": url.host.replace("_", "-")} if "_" in url.host else {}
        return self._client.build_request("POST", url, content=content, headers=sent, extensions=others)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
