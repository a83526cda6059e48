"""Rank by meaning as well, where a plugin can turn texts into vectors."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pegboard import Entry
from pegboard_toolsearch.finder import Found, ToolFinder

HOOK = "embed_texts"
CANDIDATES = 50
"""How many tools that the words have found are ranked again."""
MEANING = 0.5
"""How much meaning counts against words."""
MOST_VECTORS = 20_000
Vector = Sequence[float]

log = logging.getLogger("pegboard")


class Meanings:
    """The vectors of tools, kept as long as their definitions stay the same."""

    def __init__(self) -> None:
        self._vectors: dict[tuple[str, bytes], Vector] = {}

    async def rerank(
        self, found: Found, query: str, finder: ToolFinder, hooks: Sequence[Callable[..., Any]], limit: int
    ) -> Found:
        """The same tools in the order of words and meaning together. Without an answer, nothing changes."""
        entries = list(found.entries)
        try:
            vectors = await self._vectors_of(query, entries, finder, hooks)
        except Exception:  # A stranger's model: the search by words is good enough to go on.
            log.exception("an embed_texts hook failed")
            vectors = None
        if vectors is None:
            return replace(found, entries=entries[:limit], scores=found.scores[:limit])
        wanted, most = vectors[0], max(found.scores, default=0.0) or 1.0
        scored = [
            ((1 - MEANING) * score / most + MEANING * likeness(wanted, vector), -place, entry)
            for place, (entry, score, vector) in enumerate(zip(entries, found.scores, vectors[1:], strict=True))
        ]
        best = sorted(scored, key=lambda item: item[:2], reverse=True)[:limit]
        return replace(found, entries=[item[2] for item in best], scores=[item[0] for item in best])

    async def _vectors_of(
        self, query: str, entries: Sequence[Entry], finder: ToolFinder, hooks: Sequence[Callable[..., Any]]
    ) -> list[Vector] | None:
        """The vector of the query, then those of the tools."""
        new = [entry for entry in entries if (entry.name, entry.definition) not in self._vectors]
        texts = [query, *(_text(finder, entry) for entry in new)]
        made = await _embed(texts, hooks)
        if made is None:
            return None
        if len(made) != len(texts) or len({len(vector) for vector in made}) != 1:
            raise ValueError(f"embed_texts must return {len(texts)} vectors of the same length, one for each text")
        if len(self._vectors) + len(new) > MOST_VECTORS:
            self._vectors.clear()
            return await self._vectors_of(query, entries, finder, hooks)
        self._vectors.update(
            ((entry.name, entry.definition), vector) for entry, vector in zip(new, made[1:], strict=True)
        )
        return [made[0], *(self._vectors[entry.name, entry.definition] for entry in entries)]


async def _embed(texts: Sequence[str], hooks: Sequence[Callable[..., Any]]) -> Sequence[Vector] | None:
    for hook in hooks:
        answer = hook(texts)
        answer = await answer if hasattr(answer, "__await__") else answer
        if answer is not None:
            return list(answer)
    return None


def _text(finder: ToolFinder, entry: Entry) -> str:
    document = finder.document(entry)
    return f"{document.name}: {document.opening} {document.hint}".strip()


def likeness(one: Vector, other: Vector) -> float:
    """The cosine of the angle between two vectors; 0 if one has no direction or another length."""
    if len(one) != len(other):
        return 0.0
    size = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0
