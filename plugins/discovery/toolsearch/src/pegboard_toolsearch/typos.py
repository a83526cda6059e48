"""Repair misspelled words against the words that tools use."""

from __future__ import annotations

from pegboard_toolsearch.index import ToolIndex
from pegboard_toolsearch.words import stem

SHORTEST = 5
"""Shorter words are not repaired: too many other words are one letter away."""
LONG = 8
"""From this length on, two mistakes are repaired."""


class Spelling:
    """Finds the nearest term of an index that begins with the same letter."""

    def __init__(self, index: ToolIndex) -> None:
        self._index = index
        self._by_letter: dict[str, list[str]] | None = None

    def forget(self) -> None:
        """The vocabulary has changed."""
        self._by_letter = None

    def nearest(self, word: str) -> str | None:
        """The term that was probably meant."""
        if len(word) < SHORTEST or not word.isalpha():
            return None
        from rapidfuzz import process  # 40 ms that only a misspelled word needs.
        from rapidfuzz.distance import OSA

        if self._by_letter is None:
            self._by_letter = {}
            for term in self._index.vocabulary():
                self._by_letter.setdefault(term[0], []).append(term)
        wanted = stem(word)
        known = self._by_letter.get(wanted[0], ())
        found = process.extractOne(wanted, known, scorer=OSA.distance, score_cutoff=1 if len(word) < LONG else 2)
        return str(found[0]) if found else None
