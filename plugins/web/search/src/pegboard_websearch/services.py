"""The three ready backends. They need no more than an address and a key in the settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pegboard import Settings, ToolError
from pegboard_websearch.backends import SearchBackend, SearchQuery, SearchResult
from pegboard_websearch.http import TELL, Service, ask, key_of

BRAVE = "https://api.search.brave.com/res/v1/web/search"
TAVILY = "https://api.tavily.com/search"


class _Backend:
    """A service with the address and the key that the settings give."""

    name = ""
    usual_url = ""
    needs_key = True

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def _service(self) -> Service:
        url: str = self._settings.get("websearch.url", None) or self.usual_url
        key = key_of(self._settings)
        for name, is_missing in (("url", not url), ("key", self.needs_key and not key)):
            if is_missing:
                reason = f"{self.name} needs the setting websearch.{name}, which is not set."
                raise ToolError(reason, code="unsupported", remedy=TELL)
        return Service(self.name, url, key, self._settings.get("websearch.timeout"))


class SearXNG(_Backend):
    """A SearXNG server, or one that speaks its JSON format."""

    name = "searxng"
    needs_key = False

    def _service(self) -> Service:
        service = super()._service()
        base = service.url.rstrip("/")
        url = base if base.endswith("/search") else f"{base}/search"
        return Service(service.name, url, service.key, service.seconds)

    async def search(self, query: SearchQuery) -> Sequence[SearchResult]:
        """GET with `format=json`."""
        service = self._service()
        headers = {"authorization": f"Bearer {service.key}"} if service.key else {}
        said = await ask(service, "GET", headers, params={"q": _with_sites(query), "format": "json"})
        return _results(said.get("results"), text="content", age="publishedDate")


class Brave(_Backend):
    """The search of Brave."""

    name = "brave"
    usual_url = BRAVE

    async def search(self, query: SearchQuery) -> Sequence[SearchResult]:
        """GET with the key in a header."""
        service = self._service()
        params = {"q": _with_sites(query), "count": query.most, "text_decorations": "false"}
        said = await ask(service, "GET", {"x-subscription-token": service.key}, params=params)
        web = said.get("web")
        return _results(web.get("results") if isinstance(web, dict) else None, text="description", age="age")


class Tavily(_Backend):
    """The search of Tavily, which takes domains as lists."""

    name = "tavily"
    usual_url = TAVILY

    async def search(self, query: SearchQuery) -> Sequence[SearchResult]:
        """POST with the key in a header."""
        service = self._service()
        body: dict[str, Any] = {"query": query.text, "max_results": query.most}
        if query.allowed_domains:
            body["include_domains"] = list(query.allowed_domains)
        if query.blocked_domains:
            body["exclude_domains"] = list(query.blocked_domains)
        said = await ask(service, "POST", {"authorization": f"Bearer {service.key}"}, json=body)
        return _results(said.get("results"), text="content", age="published_date")


def ready_backends(settings: Settings) -> list[SearchBackend]:
    """All three, with these settings."""
    return [SearXNG(settings), Brave(settings), Tavily(settings)]


def _with_sites(query: SearchQuery) -> str:
    """The query with its domains, in the words that most engines know. The results are checked anyway."""
    allowed = " OR ".join(f"site:{domain}" for domain in query.allowed_domains)
    blocked = " ".join(f"-site:{domain}" for domain in query.blocked_domains)
    return " ".join(part for part in (query.text, allowed, blocked) if part)


def _results(given: Any, *, text: str, age: str) -> list[SearchResult]:
    """What a service found. An entry without an address is left out, and other fields that are no text are empty."""
    entries = [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
    return [
        SearchResult(entry["url"], _text(entry, "title"), _text(entry, text), _text(entry, age))
        for entry in entries
        if isinstance(entry.get("url"), str)
    ]


def _text(entry: dict[str, Any], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
