"""The index as a service of a board: it follows the pool, and answers queries of every form."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from pegboard import Entry, Pool
from pegboard_toolsearch.documents import Document, document_of
from pegboard_toolsearch.forms import matching, required_words, selected
from pegboard_toolsearch.index import ToolIndex
from pegboard_toolsearch.rank import Match, Ranked, rank
from pegboard_toolsearch.typos import Spelling

REMEMBERED_POOLS = 8
SLACK = 1_000
"""How many tools that no pool has any more may stay in the index."""
WEAK = 0.4
"""An answer is weak if the best tool has less than this share of the query's words."""


@dataclass(frozen=True, slots=True)
class Found:
    """The tools that a query found, best first."""

    entries: Sequence[Entry]
    form: str = "words"
    """`words`, `select`, `regex` or `required`."""
    scores: Sequence[float] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    """Names that were asked for and mean no tool, each with what to do."""
    unknown: Sequence[str] = ()
    """Words that no tool contains."""
    repaired: Mapping[str, str] = field(default_factory=dict)
    is_weak: bool = False


class ToolFinder:
    """One for all sessions and agents of a board; each searches only its own pool. `ctx.service("tool_index")`."""

    def __init__(self) -> None:
        self.index = ToolIndex()
        self.spelling = Spelling(self.index)
        self._definitions: dict[str, bytes] = {}
        self._pools: list[tuple[Pool, frozenset[int], frozenset[int]]] = []
        self._lock = Lock()

    def search(self, pool: Pool, query: str, limit: int = 5, *, deferred_only: bool = False) -> Found:
        """The tools of this pool that fit a query. Names are looked up among all tools, words among deferred ones."""
        if (chosen := selected(pool, query)) is not None:
            return Found(chosen.entries[:limit], "select", missing=chosen.missing)
        if (found := matching(pool, query)) is not None:
            return Found([entry for entry in found if entry.deferred or not deferred_only][:limit], "regex")
        with self._lock:
            allowed = self.follow(pool, deferred_only=deferred_only)
            return self._ranked(pool, query, limit, allowed)

    def _ranked(self, pool: Pool, query: str, limit: int, allowed: Collection[int]) -> Found:
        required, words = required_words(query)
        if required:
            allowed = {number for number in allowed if all(word in self._small_name(number) for word in required)}
        ranked = rank(self.index, self.spelling, words, allowed)
        matches = self._with_exact(query, ranked.matches, allowed)
        if required:
            ranked_already = {match.number for match in matches}
            rest = sorted(set(allowed) - ranked_already, key=self._small_name)
            matches += [Match(number, 0.0) for number in rest]
        entries = [entry for match in matches[:limit] if (entry := pool.get(self._document(match.number).name))]
        return Found(
            entries,
            "required" if required else "words",
            [match.score for match in matches[:limit]],
            ranked.terms,
            unknown=ranked.unknown,
            repaired=ranked.repaired,
            is_weak=not matches or bool(ranked.unknown) or self._share(matches[0].number, ranked) < WEAK,
        )

    def _with_exact(self, query: str, matches: list[Match], allowed: Collection[int]) -> list[Match]:
        """A query that is the name of a tool finds that one first, however it is spelled."""
        if " " in query.strip():
            return matches
        numbers = [number for number in self.index.spelled_like(query.strip()) if number in allowed]
        most = matches[0].score if matches else 1.0
        return [Match(number, most) for number in numbers] + [match for match in matches if match.number not in numbers]

    def _share(self, number: int, ranked: Ranked) -> float:
        total = sum(ranked.terms.values())
        said = sum(weight for term, weight in ranked.terms.items() if number in self.index.impacts(term)[0])
        return said / total if total else 1.0

    def follow(self, pool: Pool, *, deferred_only: bool = False) -> frozenset[int]:
        """Bring the index up to date with a pool; the numbers of its tools, or of its deferred ones."""
        for known, every, deferred in self._pools:
            if known is pool:
                return deferred if deferred_only else every
        new = [entry for entry in pool.entries if self._definitions.get(entry.name) != entry.definition]
        if len(self.index) + len(new) > 2 * sum(len(known.entries) for known, *_ in self._pools) + len(new) + SLACK:
            self._begin_anew()
            new = pool.entries
        if new:
            self.index.add(document_of(entry) for entry in new)
            self._definitions.update((entry.name, entry.definition) for entry in new)
            self.spelling.forget()
            if self.index.is_worn:
                self._begin_anew()
                return self.follow(pool, deferred_only=deferred_only)
            self._pools.clear()  # A tool that was replaced has another number now.
        numbers = {entry.name: self.index.number(entry.name) for entry in pool.entries}
        every = frozenset(number for number in numbers.values() if number is not None)
        deferred = frozenset(n for entry in pool.entries if entry.deferred and (n := numbers[entry.name]) is not None)
        self._pools = [*self._pools[-REMEMBERED_POOLS + 1 :], (pool, every, deferred)]
        return deferred if deferred_only else every

    def _begin_anew(self) -> None:
        self.index = ToolIndex()
        self.spelling = Spelling(self.index)
        self._definitions.clear()
        self._pools.clear()

    def document(self, entry: Entry) -> Document:
        """The indexed text of a tool."""
        number = self.index.number(entry.name)
        return document_of(entry) if number is None else self._document(number)

    def _document(self, number: int) -> Document:
        return self.index.documents[number]

    def _small_name(self, number: int) -> str:
        return self._document(number).name.lower()
