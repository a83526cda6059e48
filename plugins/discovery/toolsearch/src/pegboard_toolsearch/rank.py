"""Rank the tools of an index for a query in plain words."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import pairwise
from typing import NamedTuple

from pegboard_toolsearch.index import ToolIndex
from pegboard_toolsearch.typos import Spelling
from pegboard_toolsearch.words import STOP_WORDS, TEXT, VAGUE_WORDS, split_name, stem

CLAUSE_END = re.compile(
    r"[,.;:?!()\n]+(?:\s|$)|\s\+\s"
    r"|\b(?:and|or|then|also|additionally|plus|furthermore|moreover|finally|lastly)\b",
    re.IGNORECASE,
)
CLAUSE_SHARE = 0.25
"""How much the best clause counts against the whole query: a long query asks for several tools."""
CLAUSE_EVENNESS = 0.25
"""0 makes the best tools of all clauses equal, 1 leaves a clause with rare words its lead."""
REPEATED = 0.5
NAME_COVERAGE = 0.22
"""What is added to the score of a tool whose whole name and server are in the query."""
JOINED, SPLIT = 0.5, 0.7
PROMISING, CANDIDATES = 150, 40
SHORT = 6
"""Spelling is repaired in queries of up to this many words: in prose, unknown words are names."""

VAGUE_WEIGHT, NUMBER_WEIGHT = 0.45, 0.3


class Match(NamedTuple):
    """A tool that fits a query."""

    number: int
    score: float


class Ranked(NamedTuple):
    """The answer to a query, best first, and what was made of its words."""

    matches: list[Match]
    terms: dict[str, float]
    """The terms that were looked for, and their weights."""
    unknown: list[str]
    """Words that no tool contains."""
    repaired: dict[str, str]
    """Misspelled words, and what was looked for instead."""


def rank(index: ToolIndex, spelling: Spelling, query: str, allowed: Container[int]) -> Ranked:
    """The tools that fit a query best, among those that are allowed."""
    reading = _Reading(index, spelling, is_short=len(TEXT.findall(query)) <= SHORT)
    clauses = [_accumulate(index, reading.terms_of(part), reading.terms) for part in CLAUSE_END.split(query)]
    total = _combine([scores for scores in clauses if scores], allowed)
    best = sorted(total, key=total.__getitem__)[-CANDIDATES:]
    scored = [
        Match(number, total[number] * (1 + NAME_COVERAGE * index.coverage(number, reading.terms))) for number in best
    ]
    scored.sort(key=lambda match: (-match.score, index.documents[match.number].name))
    return Ranked(scored, reading.terms, list(reading.unknown), reading.repaired)


def _accumulate(index: ToolIndex, clause: dict[str, float], seen: dict[str, float]) -> dict[int, float]:
    """The score of each tool for one clause. What an earlier clause said already counts less."""
    scores: dict[int, float] = {}
    get = scores.get
    for term, weight in clause.items():
        again = weight * REPEATED if term in seen else weight
        seen[term] = max(weight, seen.get(term, 0.0))
        for number, impact in zip(*index.impacts(term), strict=True):
            scores[number] = get(number, 0.0) + impact * again
    return scores


def _combine(clauses: Sequence[dict[int, float]], allowed: Container[int]) -> dict[int, float]:
    """The score of each allowed tool for all clauses together, and for the one that it fits best."""
    if len(clauses) < 2:
        return {number: score for scores in clauses for number, score in scores.items() if number in allowed}
    whole: dict[int, float] = {}
    get = whole.get
    for scores in clauses:
        for number, score in scores.items():
            whole[number] = get(number, 0.0) + score
    most = max(whole.values())
    promising = sorted([number for number in whole if number in allowed], key=whole.__getitem__)[-PROMISING:]
    total = {number: (1 - CLAUSE_SHARE) * whole[number] for number in promising}
    best: dict[int, float] = {}
    for scores in clauses:
        top = max(scores.values())
        weight = CLAUSE_SHARE * most * (top / most) ** CLAUSE_EVENNESS / top
        for number in promising:
            score = scores.get(number, 0.0) * weight
            if score > best.get(number, 0.0):
                best[number] = score
    return {number: score + best.get(number, 0.0) for number, score in total.items()}


class _Reading:
    """Turns words into terms of the index."""

    def __init__(self, index: ToolIndex, spelling: Spelling, *, is_short: bool) -> None:
        self._index, self._spelling, self._is_short = index, spelling, is_short
        self.terms: dict[str, float] = {}
        self.unknown: dict[str, None] = {}
        self.repaired: dict[str, str] = {}

    def terms_of(self, text: str) -> dict[str, float]:
        """The terms of one clause with their weights."""
        words = _words(text)
        found: dict[str, float] = {}
        for word in words:
            if word not in STOP_WORDS:
                for term, weight in self._read(word):
                    found[term] = max(weight, found.get(term, 0.0))
        for first, second in pairwise(words):
            if first not in STOP_WORDS and second not in STOP_WORDS and (term := stem(first + second)) in self._index:
                found[term] = max(JOINED, found.get(term, 0.0))
        return found

    def _read(self, word: str) -> list[tuple[str, float]]:
        term = stem(word)
        if term in self._index or word.isdigit():
            return [(term, VAGUE_WEIGHT if word in VAGUE_WORDS else NUMBER_WEIGHT if word.isdigit() else 1.0)]
        if parts := self._split(word):
            return [(part, SPLIT) for part in parts]
        if self._is_short and (meant := self._spelling.nearest(word)):
            self.repaired[word] = meant
            return [(meant, SPLIT)]
        if not self._index.impacts(term)[0]:
            self.unknown[word] = None
        return [(term, 1.0)]

    def _split(self, word: str) -> tuple[str, str] | None:
        """The two known words that an unknown one consists of, as in `wordcloud`."""
        index = self._index
        cuts = [(stem(word[:at]), stem(word[at:])) for at in range(3, len(word) - 2)]
        known = [cut for cut in cuts if cut[0] in index and cut[1] in index]
        return min(known, key=lambda cut: min(index.rarity(cut[0]), index.rarity(cut[1])), default=None)


def _words(text: str) -> list[str]:
    """The words of a query in small letters; one written like an identifier is its parts."""
    words: list[str] = []
    for word in TEXT.findall(text):
        parts = split_name(word) if not (word.islower() or word.istitle() or word.isupper()) else ()
        words += [word.lower(), *parts] if len(parts) > 1 else [word.lower()]
    return words
