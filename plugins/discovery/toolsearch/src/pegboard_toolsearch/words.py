"""From text to the words that an index compares: split, without stop words, reduced to their stems."""

from __future__ import annotations

import re

TEXT = re.compile(r"[^\W_]+")
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
        self._arguments: dict[str, list[str]] = {}

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
        return [term for word in TEXT.findall(text) for term in self[word]]

    def of_name(self, name: str) -> list[str]:
        """The terms of an identifier."""
        return [term for part in CAMEL.findall(name) for term in self[part.lower()]]

    def of_argument(self, text: str, *, is_name: bool) -> list[str]:
        """The terms of an argument. Remembered, because thousands of tools have a `page` or a `limit`."""
        found = self._arguments.get(text)
        if found is None:
            found = self._arguments[text] = self.of_name(text) if is_name else self.of_text(text)
        return found

    def forget_arguments(self) -> None:
        """Free the memory once all tools are read."""
        self._arguments.clear()


def split_name(name: str) -> list[str]:
    """The words of an identifier: `readHTTPFile`, `read_http_file` and `read-http-file` are the same three."""
    return [part.lower() for part in CAMEL.findall(name)]


JOINTS = str.maketrans("", "", "_-. /:")


def letters_of(name: str) -> str:
    """A name without what joins its parts, in small letters."""
    return name.translate(JOINTS).lower()


def stem(word: str) -> str:
    """The word without the endings of English grammar: `files`, `filing` and `filed` become `file`-like equals."""
    if len(word) < 4 or not word.isascii():
        return word
    word = _without_plural(word)
    for ending, shortest, instead in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= shortest:
            word = word[: -len(ending)] + instead
            break
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


def _without_plural(word: str) -> str:
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word
