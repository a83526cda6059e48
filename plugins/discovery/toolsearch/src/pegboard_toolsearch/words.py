"""From text to the words that an index compares: split, without stop words, reduced to their stems."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

TEXT = re.compile(r"[^\W_]+")
# Both tables name every ASCII character: translate() is slow for one that its table lacks.
SEPARATED = {code: chr(code) if chr(code).isalnum() else " " for code in range(128)}
LETTERS = {code: "" if chr(code) in "_-. /:" else chr(code).lower() for code in range(128)}
CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
DOUBLED = re.compile(r"([b-df-hj-np-tv-z])\1$")

STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any anyone are as at be because been before being below between
    both but by can cannot could currently d did do does doing don done down during each either else etc even ever
    every everyone few for from further give given had has have having he hello help her here hers hey hi him his
    how i if in into is it its just kind know let like ll looking lot m make makes many may me might mine more most
    much must my myself need needed needs no nor not now of off on once one only onto or other otherwise our ours
    out over own particular per please possible provide provided provides re really regarding s same shall she
    should so some someone something specific specified such sure t tell than thank thanks that the their theirs
    them then there these they thing things this those through to too under until up upon us use used useful user
    uses using ve very via want wanted wants was way we well were what whatever when where whether which while who
    whom whose why will wish with within without would yes you your yours yourself
    """.split()  # noqa: SIM905 - as a list it would be two pages
)


VAGUE_WORDS = frozenset(
    """
    api app application apps current currently curious data day days detail details function functions info information
    interest interested month months online operation operations plan planning platform platforms related resource
    resources server servers service services soon system systems today tomorrow tonight tool tools upcoming various
    week weekend weeks year years yesterday
    monday tuesday wednesday thursday friday saturday sunday
    january february march april june july august september october november december
    """.split()  # noqa: SIM905 - as a list it would be a page
)
"""Words that many queries contain and that say little about the tool."""


class Stems(dict[str, tuple[str, ...]]):
    """The terms of each word as it is written: none for a stop word, several for one written like an identifier."""

    def __init__(self) -> None:
        super().__init__()
        self._names = _Names(self)

    def __missing__(self, word: str) -> tuple[str, ...]:
        small = word.lower()
        words = [small]
        if not (word.islower() or word.istitle() or word.isupper()):
            parts = split_name(word)
            words += parts if len(parts) > 1 else []
        self[word] = terms = tuple(stem(word) for word in words if word not in STOP_WORDS)
        return terms

    def of_text(self, text: str) -> list[str]:
        """The terms of a text."""
        # Nearly all texts are ASCII, and splitting those takes half the time of a search by pattern.
        words = text.translate(SEPARATED).split() if text.isascii() else TEXT.findall(text)
        return list(chain.from_iterable(map(self.__getitem__, words)))

    def of_name(self, name: str) -> tuple[str, ...]:
        """The terms of an identifier."""
        return self._names.read(name)

    def of_repeated(self, names: Iterable[str]) -> list[str]:
        """The terms of identifiers that many tools have: servers, and arguments like `page` or `limit`."""
        return list(chain.from_iterable(map(self._names.__getitem__, names)))


class _Names(dict[str, tuple[str, ...]]):
    """The terms of each identifier."""

    def __init__(self, stems: Stems) -> None:
        super().__init__()
        self._stems = stems

    def __missing__(self, name: str) -> tuple[str, ...]:
        self[name] = terms = self.read(name)
        return terms

    def read(self, name: str) -> tuple[str, ...]:
        """The terms, not remembered."""
        return tuple(chain.from_iterable(map(self._stems.__getitem__, split_name(name))))


def split_name(name: str) -> list[str]:
    """The words of an identifier: `readHTTPFile`, `read_http_file` and `read-http-file` are the same three."""
    return [part.lower() for part in CAMEL.findall(name)]


def letters_of(name: str) -> str:
    """A name without what joins its parts, in small letters."""
    return name.translate(LETTERS).lower()


def stem(word: str) -> str:
    """The word without the endings of English grammar: `files`, `filing` and `filed` become `file`-like equals."""
    if len(word) < 4 or not word.isascii():
        return word
    word = _without_ending(_without_plural(word))
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and DOUBLED.search(word):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 2 and word[-1] == "y" and word[-2] not in "aeiou" else word


ENDINGS = (
    ("ization", 3, "ize"),
    ("isation", 3, "ize"),
    ("ational", 3, "ate"),
    ("fulness", 3, "ful"),
    ("ication", 3, "y"),
    ("ations", 3, "ate"),
    ("ation", 3, "ate"),
    ("ating", 3, "ate"),
    ("ated", 3, "ate"),
    ("ator", 3, "ate"),
    ("ition", 4, "it"),
    ("ment", 4, ""),
    ("ings", 3, ""),
    ("ing", 3, ""),
    ("ied", 2, "y"),
    ("ed", 3, ""),
    ("ers", 4, ""),
    ("er", 4, ""),
    ("or", 5, ""),
    ("ly", 4, ""),
    ("ion", 4, ""),
)
ANY_ENDING = tuple(ending for ending, *_ in ENDINGS)


def _without_ending(word: str) -> str:
    if word.endswith(ANY_ENDING):
        for ending, shortest, instead in ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= shortest:
                return word[: -len(ending)] + instead
    return word


def _without_plural(word: str) -> str:
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word
