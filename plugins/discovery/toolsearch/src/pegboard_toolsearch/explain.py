"""Why a tool is where it is in a ranking: what each field contributes."""

from __future__ import annotations

from dataclasses import dataclass

from pegboard import Entry
from pegboard_toolsearch.finder import Found, ToolFinder
from pegboard_toolsearch.index import FIELDS, SATURATION, SYNONYM_WEIGHT
from pegboard_toolsearch.synonyms import SYNONYMS


@dataclass(frozen=True, slots=True)
class Explained:
    """One tool of a ranking."""

    score: float
    fields: dict[str, float]
    """The part of the score that each field contributes."""
    words: dict[str, list[str]]
    """The terms of the query that each field contains, or synonyms of them."""


def explain(finder: ToolFinder, found: Found, entry: Entry, score: float) -> Explained:
    """Divide a score among the fields, by how much each adds to the weight of every word."""
    shares = dict.fromkeys((field.name for field in FIELDS), 0.0)
    words: dict[str, list[str]] = {}
    fields = finder.index.fields_of(finder.document(entry))
    for term, weight in found.terms.items():
        for reading, value in ((term, 1.0), *((other, SYNONYM_WEIGHT) for other in SYNONYMS.get(term, ()))):
            parts = {
                field.name: terms.count(reading) * field.weight_in(terms)
                for field, terms in zip(FIELDS, fields, strict=True)
                if reading in terms
            }
            if parts:
                rarity, total = finder.index.rarity(reading), sum(parts.values())
                for name, part in parts.items():
                    shares[name] += weight * value * rarity * part / (SATURATION + total)
                    words.setdefault(name, []).append(term if reading == term else f"{term}={reading}")
                break
    total = sum(shares.values())
    return Explained(score, {name: score * part / total for name, part in shares.items() if part}, words)
