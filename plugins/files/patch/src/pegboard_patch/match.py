"""Find where a hunk belongs, and what it replaces there. Lines that stay are taken from the file, never the patch."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, islice

from pegboard import ToolError
from pegboard_files.splice import Replaced
from pegboard_patch.parsing import Hunk

ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
    }
)
"""Quotes, dashes and spaces that look like plain ones."""
LEVELS: dict[str, Callable[[str], str]] = {
    "trailing-whitespace": str.rstrip,
    "unicode": lambda line: unicodedata.normalize("NFKC", line.translate(ALIKE)).rstrip(),
    "indentation": str.strip,
}
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Match:
    """What hunks replace in the view of a file, and how tolerant the search had to be."""

    pieces: list[Replaced]
    levels: list[str]


def find_hunks(view: str, hunks: list[Hunk], levels: tuple[str, ...], name: str) -> Match:
    """The pieces of a file that its hunks replace, from top to bottom. A `ToolError` says which hunk fits nowhere."""
    lines = view.split("\n")
    if lines[-1] == "":
        lines.pop()
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    search = _Search(lines, levels, name)
    pieces, used = list[Replaced](), list[str]()
    for hunk in hunks:
        first, level = search.place(hunk)
        pieces += [_piece(a, b, new, starts, view) for a, b, new in _runs(hunk, first)]
        search.cursor = first + len(hunk.old)
        if level:
            used.append(level)
    return Match(pieces, used)


class _Lines:
    """The lines of a file, and where each of them is."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.places: dict[str, list[int]] = {}
        for at, line in enumerate(lines):
            self.places.setdefault(line, []).append(at)

    def find(self, wanted: list[str], start: int) -> list[int]:
        """Where lines are found, a few at most; the rarest of them says where to look."""
        rarest = min(range(len(wanted)), key=lambda at: len(self.places.get(wanted[at], ())))
        found = list[int]()
        places = self.places.get(wanted[rarest], [])
        for number in range(bisect_left(places, start + rarest), len(places)):
            at = places[number] - rarest
            if self.lines[at : at + len(wanted)] == wanted:
                found.append(at)
                if len(found) > MOST_NAMED:
                    break
        return found


class _Search:
    """Looks for lines from a cursor on; what is before it belongs to earlier hunks."""

    def __init__(self, lines: list[str], levels: tuple[str, ...], name: str) -> None:
        self.levels, self.name, self.cursor = levels, name, 0
        self._exact = _Lines(lines)
        self._tolerant: dict[str, _Lines] = {}
        self._count = len(lines)

    def place(self, hunk: Hunk) -> tuple[int, str]:
        """Where a hunk begins, and the level that found it; empty for an exact match."""
        start, old = self._after_headers(hunk), hunk.old
        if not old:
            return (self._count if hunk.at_end or not hunk.headers else start), ""
        where = f"The change at line {hunk.line} of the patch"
        found, level = self._find(old, max(start, self._count - len(old)) if hunk.at_end else start)
        if not found:
            raise self._missing(hunk, where)
        if len(found) > 1 and not hunk.headers:
            many = f"more than {MOST_NAMED}" if len(found) > MOST_NAMED else str(len(found))
            numbers = ", ".join(str(at + 1) for at in found[:MOST_NAMED])
            reason = f"{where} fits {self.name} in {many} places, at lines {numbers}."
            raise ToolError(f"{reason} Add the lines around it, or an @@ line that precedes it.", code="ambiguous")
        return found[0], level

    def _after_headers(self, hunk: Hunk) -> int:
        start, lines = self.cursor, self._exact.lines
        for header in hunk.headers:
            found = self._level("indentation").find([header], start)
            if not found:
                found = list(islice((at for at in range(start, self._count) if header in lines[at]), 1))
            if not found:
                reason = f"There is no line {header!r} after line {start} of {self.name}"
                raise ToolError(f"{reason} (line {hunk.line} of the patch). Read the file again.", code="no_match")
            start = found[0] + 1
        return start

    def _find(self, old: list[str], start: int) -> tuple[list[int], str]:
        if found := self._exact.find(old, start):
            return found, ""
        for level in LEVELS:
            if level in self.levels and (
                found := self._level(level).find([LEVELS[level](line) for line in old], start)
            ):
                return found, level
        return [], ""

    def _level(self, name: str) -> _Lines:
        if name not in self._tolerant:
            self._tolerant[name] = _Lines([LEVELS[name](line) for line in self._exact.lines])
        return self._tolerant[name]

    def _missing(self, hunk: Hunk, where: str) -> ToolError:
        earlier, _ = self._find(hunk.old, 0)
        if earlier and earlier[0] < self.cursor:
            reason = f"{where} fits {self.name} only at line {earlier[0] + 1}, before or inside an earlier change."
            advice = "Changes must be in the order of the file and must not overlap."
            return ToolError(f"{reason} {advice}", code="no_match")
        first = next((line for line in hunk.old if line.strip()), hunk.old[0])
        near = self._level("indentation").places.get(first.strip(), [])[:3]
        hint = f" A line like its first one is at {', '.join(str(at + 1) for at in near)}." if near else ""
        reason = f"{where} does not fit {self.name}: these lines are not in it as they are written.{hint}"
        return ToolError(f"{reason} Read the file again and copy the lines from there.", code="no_match")


def _runs(hunk: Hunk, first: int) -> list[tuple[int, int, list[str]]]:
    """Each run of changed lines: where it begins and ends in the file, and the lines that come."""
    made, at, start, new = list[tuple[int, int, list[str]]](), first, -1, list[str]()
    for mark, text in [*hunk.lines, (" ", "")]:
        if mark == " ":
            if start >= 0:
                made.append((start, at, new))
            start, new, at = -1, [], at + 1
            continue
        if start < 0:
            start = at
        if mark == "+":
            new.append(text)
        else:
            at += 1
    return made


def _piece(first: int, last: int, new: list[str], starts: list[int], view: str) -> Replaced:
    """Lines `first` to `last` replaced by others. A file that does not end with a newline still does not."""
    ends_open = bool(view) and not view.endswith("\n") and last == len(starts) - 1
    if not ends_open:
        return starts[first], starts[last], "".join(f"{line}\n" for line in new)
    if first == last:
        return len(view), len(view), "".join(f"\n{line}" for line in new)
    if new or not first:
        return starts[first], len(view), "\n".join(new)
    return starts[first] - 1, len(view), ""
