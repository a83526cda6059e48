"""The search of the service itself, in the shape of the Messages API."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pegboard import ProviderError
from pegboard_session import Request, ServerSearch

WEB_SEARCH = ("auto", "on", "off")
TOOL = "web_search_20250305"
"""The version of the tool that every model with a search knows."""


def is_supported(*, is_first_party: bool, base_url: str | None) -> bool:
    """Whether the service searches. Of other services and gateways that is not known."""
    return is_first_party and not (base_url or os.environ.get("ANTHROPIC_BASE_URL"))


def with_search(request: Request, search: ServerSearch) -> Request:
    """The request with the service's own search as its only tool."""
    tool: dict[str, Any] = {"type": TOOL, "name": "web_search", "max_uses": search.most}
    if search.allowed_domains:
        tool["allowed_domains"] = list(search.allowed_domains)
    elif search.blocked_domains:  # The service takes one of the two lists.
        tool["blocked_domains"] = list(search.blocked_domains)
    return replace(request, options={**request.options, "tools": [tool]})


def sources_of(block: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a block has found: results of a search, or what a text cites. A failed search is a `ProviderError`."""
    if block.get("type") == "text":
        return [_source(cited, "cited_text") for cited in block.get("citations") or () if _is_source(cited)]
    if block.get("type") != "web_search_tool_result":
        return []
    content = block.get("content")
    if isinstance(content, Mapping):
        raise ProviderError(f"The search of the service failed: {content.get('error_code') or 'unknown'}.")
    return [_source(found, "") for found in content or () if _is_source(found)]


def _is_source(found: Any) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("url"), str)


def _source(found: Mapping[str, Any], text: str) -> dict[str, str]:
    said = {"url": found["url"], "title": found.get("title"), "text": found.get(text), "age": found.get("page_age")}
    return {name: value for name, value in said.items() if isinstance(value, str)}
