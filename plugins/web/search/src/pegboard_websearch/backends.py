"""What a backend is asked, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for. Domains are lower case, and include the ones below them; at most one list has any."""

    text: str
    allowed_domains: Sequence[str] = ()
    blocked_domains: Sequence[str] = ()
    most: int = 10
    """How many results are wanted."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page that was found, as the service describes it."""

    url: str
    title: str = ""
    text: str = ""
    """An excerpt."""
    age: str = ""
    """When it was published, in any words."""


class SearchBackend(Protocol):
    """A place to search."""

    name: str

    async def search(self, query: SearchQuery) -> Sequence[SearchResult]:
        """The pages that were found, the best first. A `ToolError` says why there are none."""
        ...
