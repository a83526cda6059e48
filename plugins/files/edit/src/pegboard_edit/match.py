"""Find the text to replace: exactly, and only where a setting allows it, in one of a few tolerant ways.

Everything here works on the view of a file, in which every line ends with a line feed. A match says where the text is
and what the replacement becomes there; it never rewrites anything around it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

LEVELS = ("newline", "trailing-whitespace", "indentation", "unicode", "escapes")
ALIKE = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
}
"""Quotes, dashes and spaces that look like plain ones."""
ESCAPES = {"\\n": "\n", "\\t": "\t", "\\r": "\r", '\\"': '"', "\\'": "'", "\\\\": "\\"}
ESCAPE = re.compile(r"\\[ntr\"'\\]")


@dataclass(frozen=True, slots=True)
class Match:
    """Spans in the view, the text that replaces each, and the tolerance level that found them."""

    spans: list[tuple[int, int]]
    new: str
    strategy: str


def find(view: str, old: str, new: str, levels: tuple[str, ...]) -> Match | None:
    """All occurrences of `old`, by the first level that finds any; None when no level does."""
    spans = occurrences(view, old)
    if spans:
        return Match(spans, new, "exact")
    for level in LEVELS:
        if level in levels and (match := FINDERS[level](view, old, new)):
            return match
    return None


def occurrences(view: str, old: str) -> list[tuple[int, int]]:
    """Every occurrence, overlapping ones too: `aa` is in `aaa` twice, and which one is meant is ambiguous."""
    found, at = list[tuple[int, int]](), view.find(old)
    while at >= 0:
        found.append((at, at + len(old)))
        at = view.find(old, at + 1)
    return found


def without_overlaps(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The occurrences that one pass from the start replaces."""
    kept = list[tuple[int, int]]()
    for start, end in spans:
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _by_newline(view: str, old: str, new: str) -> Match | None:
    plain = old.replace("\r\n", "\n").removeprefix("\ufeff")
    spans = occurrences(view, plain) if plain and plain != old else []
    return Match(spans, new, "newline") if spans else None


def _by_lines(
    view: str, old: str, same: Callable[[list[str], list[str]], bool]
) -> list[tuple[tuple[int, int], list[str]]]:
    """Windows of whole lines equal to those of `old`, each with its offset and its lines."""
    wanted = old.split("\n")
    ends_line = wanted[-1] == "" and len(wanted) > 1
    if ends_line:
        wanted.pop()
    lines = view.split("\n")
    starts, at = [0], 0
    for line in lines:
        at += len(line) + 1
        starts.append(at)
    found = list[tuple[tuple[int, int], list[str]]]()
    for first in range(len(lines) - len(wanted) + 1):
        window = lines[first : first + len(wanted)]
        if same(window, wanted):
            end = starts[first + len(wanted)] - (not ends_line)
            found.append(((starts[first], min(end, len(view))), window))
    return found


def _by_trailing_whitespace(view: str, old: str, new: str) -> Match | None:
    if not old.strip():
        return None
    found = _by_lines(view, old, lambda window, wanted: [x.rstrip() for x in window] == [x.rstrip() for x in wanted])
    return Match([span for span, _ in found], new, "trailing-whitespace") if found else None


def _by_indentation(view: str, old: str, new: str) -> Match | None:
    """The same lines with a different common indentation; the new text is indented to match."""
    wanted = old.split("\n")
    theirs = indentation(wanted)
    if not old.strip():
        return None
    stripped = [line[len(theirs) :] if line.strip() else "" for line in wanted if line or line is not wanted[-1]]

    def same(window: list[str], _: list[str]) -> bool:
        ours = indentation(window)
        return ours != theirs and [line[len(ours) :] if line.strip() else "" for line in window] == stripped

    found = _by_lines(view, old, same)
    if not found:
        return None
    moved = _moved(new, theirs, indentation(found[0][1]))
    return None if moved is None else Match([span for span, _ in found], moved, "indentation")


def indentation(lines: list[str]) -> str:
    """The leading whitespace shared by all non-blank lines."""
    heads = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    if not heads:
        return ""
    low, high = min(heads), max(heads)
    same = next(
        (number for number, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high))
    )
    return low[:same]


def _moved(new: str, theirs: str, ours: str) -> str | None:
    lines = new.split("\n")
    if any(line.strip() and not line.startswith(theirs) for line in lines):
        return None  # A new line is indented less than every old one: its right indentation would be a guess.
    return "\n".join(ours + line[len(theirs) :] if line.strip() else line for line in lines)


def _by_unicode(view: str, old: str, new: str) -> Match | None:
    plain, places = _simplified(view)
    wanted, _ = _simplified(old)
    spans = [(places[start], places[end]) for start, end in occurrences(plain, wanted)] if wanted else []
    return Match(spans, new, "unicode") if spans else None


def _simplified(text: str) -> tuple[str, list[int]]:
    """The text with plain quotes, dashes and spaces, and for each character where it came from."""
    made, places = list[str](), list[int]()
    for at, character in enumerate(text):
        simple = ALIKE.get(character) or (character if character < "\x80" else unicodedata.normalize("NFKC", character))
        made.append(simple)
        places += [at] * len(simple)
    places.append(len(text))
    return "".join(made), places


def _by_escapes(view: str, old: str, new: str) -> Match | None:
    plain = unescaped(old)
    spans = occurrences(view, plain) if plain != old else []
    return Match(spans, unescaped(new), "escapes") if spans else None


def unescaped(text: str) -> str:
    """The text with backslash escapes replaced by the characters they mean."""
    return ESCAPE.sub(lambda found: ESCAPES[found[0]], text)


FINDERS: dict[str, Callable[[str, str, str], Match | None]] = {
    "newline": _by_newline,
    "trailing-whitespace": _by_trailing_whitespace,
    "indentation": _by_indentation,
    "unicode": _by_unicode,
    "escapes": _by_escapes,
}
