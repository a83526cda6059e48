"""The index: which tools contain which words, and how much each word counts there.

A fielded BM25: the frequency of a word in each field is weighted and held against the usual length of that field, the
sum is saturated once, and rare words count more. Only the rarity of a word depends on other tools, and it is looked up
when a query is asked, so tools can be added and removed at any time.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from pegboard_toolsearch.documents import Document
from pegboard_toolsearch.synonyms import SYNONYMS
from pegboard_toolsearch.words import Stems, letters_of

SATURATION = 1.0
RARITY_EXPONENT = 1.1
SYNONYM_WEIGHT = 0.5
COMMON = 0.2
"""A synonym that more than this share of all tools contain says nothing."""


MOST_DETAILS, MOST_ARGUMENT = 400, 100
"""How many characters of a description and of an argument's description are read: what matters comes first."""


class Field(NamedTuple):
    """One field of a tool: what a word in it counts, its usual length in words, and how much a longer one costs."""

    name: str
    weight: float
    usual: float
    penalty: float

    def weight_in(self, terms: Sequence[str]) -> float:
        """What each word counts in a field with these terms."""
        return self.weight / (1 - self.penalty + self.penalty * len(terms) / self.usual)


FIELDS = (
    Field("name", 3.0, 3.0, 0.5),
    Field("server", 1.0, 2.0, 0.0),
    Field("hint", 2.0, 5.0, 0.3),
    Field("description", 1.0, 9.0, 0.5),
    Field("details", 0.4, 20.0, 0.5),
    Field("arguments", 0.56, 6.0, 0.35),
    Field("argument descriptions", 0.35, 30.0, 0.7),
)
Impacts = tuple[Sequence[int], Sequence[float]]
NOTHING: Impacts = ((), ())


class ToolIndex:
    """Tools by number. Removed ones keep theirs until the index is compacted."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.name_terms: list[frozenset[str]] = []
        """The words of each tool's name and server, for how much of the name a query covers."""
        self._postings: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))
        """For each term its tools. Each is its number plus how much the term counts there, which is less than 1."""
        self._numbers: dict[str, int] = {}
        self._by_letters: dict[str, list[int]] = {}
        self._impacts: dict[str, Impacts] = {}
        self._rarities: dict[str, float] = {}
        self._name_rarity: dict[int, float] = {}
        self.stems = Stems()

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int | None:
        """The number of a tool."""
        return self._numbers.get(name)

    def spelled_like(self, name: str) -> list[int]:
        """The tools whose names have these letters and digits, however they are joined; also without `mcp`."""
        letters = letters_of(name)
        return self._by_letters.get(letters, []) or self._by_letters.get(f"mcp{letters}", [])

    def add(self, documents: Iterable[Document]) -> None:
        """Add tools, or replace those that have the same name. They can be found at once."""
        for document in documents:
            self.remove(document.name)
            number = self._numbers[document.name] = len(self.documents)
            self.documents.append(document)
            self._post(number, document)
            self._by_letters.setdefault(letters_of(document.name), []).append(number)
        self._forget()

    def remove(self, name: str) -> None:
        """Forget a tool."""
        if self._numbers.pop(name, None) is not None:
            self._forget()

    def _forget(self) -> None:
        """What was worked out for queries depends on all tools."""
        self._impacts.clear()
        self._rarities.clear()
        self._name_rarity.clear()

    @property
    def is_worn(self) -> bool:
        """Whether so many tools were removed that a new index is better."""
        return len(self.documents) > 2 * len(self._numbers) + 100

    def _post(self, number: int, document: Document) -> None:
        weights: dict[str, float] = {}
        get = weights.get
        fields = self.fields_of(document)
        for field, terms in zip(FIELDS, fields, strict=True):
            if terms:
                each = field.weight_in(terms)
                for term in terms:
                    weights[term] = get(term, 0.0) + each
        postings = self._postings
        for term, weight in weights.items():
            postings[term].append(number + weight / (SATURATION + weight))
        self.name_terms.append(frozenset(chain(fields[0], fields[1])))

    def fields_of(self, document: Document) -> tuple[Sequence[str], ...]:
        """The terms of each field. The name is without the words of its server: `read_file` of mcp__fs__read_file."""
        stems, opening = self.stems, document.opening
        server, whole = stems.of_repeated((document.server,)), stems.of_name(document.name)
        texts = [text[:MOST_ARGUMENT] for text in document.arguments.values()]
        bare = [term for term in whole if term not in server and term != "mcp"]
        return (
            bare or whole,
            server,
            stems.of_text(document.hint),
            stems.of_text(opening),
            stems.of_text(document.description[len(opening) : MOST_DETAILS]),
            stems.of_repeated(document.arguments),
            stems.of_text("\n".join(texts)),
        )

    def __contains__(self, term: object) -> bool:
        return term in self._postings

    def vocabulary(self) -> Iterator[str]:
        """Every term of every tool."""
        return iter(self._postings)

    def rarity(self, term: str) -> float:
        """How much it says that a tool contains this term; 0 for one that none does."""
        known = self._rarities.get(term)
        if known is None:
            posting, total = self._postings.get(term), len(self.documents)
            having = len(posting) if posting else 0
            known = math.log(1 + (total - having + 0.5) / (having + 0.5)) ** RARITY_EXPONENT if posting else 0.0
            self._rarities[term] = known
        return known

    def coverage(self, number: int, terms: Container[str]) -> float:
        """How much of a tool's name and server these terms are, from 0 to 1, by rarity."""
        names, rarity = self.name_terms[number], self.rarity
        total = self._name_rarity.get(number)
        if total is None:
            total = self._name_rarity[number] = sum(rarity(term) for term in names)
        return sum(rarity(term) for term in names if term in terms) / total if total else 0.0

    def impacts(self, term: str) -> Impacts:
        """The tools that contain a term or a synonym of it, and how much it counts in each."""
        found = self._impacts.get(term)
        if found is None:
            found = self._impacts[term] = self._weighed(term)
        return found

    def _weighed(self, term: str) -> Impacts:
        own, rarity = self._postings.get(term), self.rarity(term)
        alike = [word for word in SYNONYMS.get(term, ()) if 0 < self._share(word) <= COMMON]
        if not alike:
            return (array("I", map(int, own)), array("f", [rarity * (both % 1) for both in own])) if own else NOTHING
        best: dict[int, float] = {}
        for word in alike:
            weight = SYNONYM_WEIGHT * (min(rarity, self.rarity(word)) if own else self.rarity(word))
            _keep_best(best, self._postings[word], weight)
        _keep_best(best, own or (), rarity)
        return array("I", best), array("f", best.values())

    def _share(self, term: str) -> float:
        posting = self._postings.get(term)
        return len(posting) / len(self.documents) if posting else 0.0


def _keep_best(best: dict[int, float], posting: Iterable[float], weight: float) -> None:
    for both in posting:
        number, value = int(both), both % 1 * weight
        if best.get(number, 0.0) < value:
            best[number] = value
