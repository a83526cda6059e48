"""The index as a service of a board: made on use, for the tool and for people."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard import Pool
    from pegboard_toolsearch.finder import ToolFinder
    from pegboard_toolsearch.semantic import Meanings

# Imports happen inside functions: every session has this service, and few search.

SERVICE = "tool_index"


class ToolIndexService:
    """The index and the vectors of one board; both are made when they are first needed."""

    @cached_property
    def finder(self) -> ToolFinder:
        """The index of words."""
        from pegboard_toolsearch.finder import ToolFinder

        return ToolFinder()

    @cached_property
    def meanings(self) -> Meanings:
        """The vectors of tools, for plugins that bring a model of meaning."""
        from pegboard_toolsearch.semantic import Meanings

        return Meanings()

    def report(self, pool: Pool, query: str, limit: int) -> dict[str, Any]:
        """A search for people, as plain data: each tool with its score and what each field contributes."""
        from pegboard_toolsearch.answers import remarks_on
        from pegboard_toolsearch.explain import explain

        finder = self.finder
        found = finder.search(pool, query, limit)
        rows: list[dict[str, Any]] = []
        for place, entry in enumerate(found.entries):
            score = found.scores[place] if place < len(found.scores) else None
            row = {"name": entry.name, "server": entry.server, "score": score}
            why = explain(finder, found, entry, score or 0.0)
            opening = " ".join(finder.document(entry).opening.split())
            rows.append({**row, "description": opening, "fields": why.fields, "words": why.words})
        return {"query": query, "tools": rows, "remarks": remarks_on(found, pool, deferred_only=False)}
