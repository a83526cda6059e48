"""The search of the service itself, in the shape of the Chat Completions API: some of its models always search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pegboard_session import Request

ANNOTATIONS = "web_annotations"
"""The type of our opaque block: the pages that a text cites."""


def is_supported(model: str, *, is_first_party: bool) -> bool:
    """Whether this model searches. Of other servers that is not known."""
    return is_first_party and "-search" in model


def with_search(request: Request) -> Request:
    """The request with the search switched on. This wire has no words for domains or a limit."""
    return replace(request, options={**request.options, "web_search_options": {}})


def sources_of(block: Mapping[str, Any]) -> list[dict[str, str]]:
    """The pages that the answer cites."""
    cited = block.get("annotations") if block.get("type") == ANNOTATIONS else None
    found = list[dict[str, str]]()
    for item in cited if isinstance(cited, list) else ():
        page = item.get("url_citation") if isinstance(item, Mapping) else None
        if isinstance(page, Mapping) and isinstance(page.get("url"), str):
            found.append({name: page[name] for name in ("url", "title") if isinstance(page.get(name), str)})
    return found
