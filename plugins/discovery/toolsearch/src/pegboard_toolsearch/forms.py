"""The forms of a query: `select:A,B`, `/regex/`, `+word`, and plain words."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from pegboard import Entry, Pool, ToolError
from pegboard_toolsearch.words import letters_of

SELECT = re.compile(r"\s*select\s*:", re.IGNORECASE)
REGEX = re.compile(r"\s*/(.+)/(i?)\s*", re.DOTALL)
REQUIRED = re.compile(r"(?:^|(?<=\s))\+([^\s+]\S*)")
LONGEST_REGEX, REGEX_SECONDS = 200, 1.0
NEAREST = 3


class Selected(NamedTuple):
    """Tools that were asked for by name, and the names that fit none, each with what to do."""

    entries: list[Entry]
    missing: dict[str, str]


def selected(pool: Pool, query: str) -> Selected | None:
    """The tools of `select:A,B`; None for a query of another form."""
    found = SELECT.match(query)
    if found is None:
        return None
    entries: dict[str, Entry] = {}
    missing: dict[str, str] = {}
    for name in (word.strip() for word in query[found.end() :].split(",")):
        if name:
            fitting = find_by_name(pool, name)
            entries.update((entry.name, entry) for entry in fitting)
            if not fitting:
                missing[name] = _absence(pool, name)
    return Selected(list(entries.values()), missing)


def find_by_name(pool: Pool, name: str) -> list[Entry]:
    """The tools that a name means: exactly, else in any case, else without its server, else by its letters alone."""
    exact = pool.get(name)
    if exact:
        return [exact]
    small, letters = name.lower(), letters_of(name)
    ways: Sequence[Callable[[str], bool]] = (
        lambda known: known.lower() == small,
        lambda known: bare(known).lower() == small,
        lambda known: bool(letters) and letters in (letters_of(known), letters_of(bare(known))),
    )
    for way in ways:
        fitting = [entry for entry in pool.entries if any(map(way, (entry.name, *entry.record["aliases"])))]
        if fitting:
            return fitting
    return []


def bare(name: str) -> str:
    """The name without its server: `read_file` of `mcp__files__read_file`."""
    return name.rpartition("__")[2] or name


def _absence(pool: Pool, name: str) -> str:
    if any(gone.name == name for gone in pool.absent):
        return pool.why_absent(name)
    from rapidfuzz import fuzz, process  # 40 ms that only a wrong name needs.

    known = {entry.name: letters_of(entry.name) for entry in pool.entries}
    near = process.extract(letters_of(name), known, scorer=fuzz.WRatio, limit=NEAREST, score_cutoff=60)
    names = [key for _, _, key in near]
    return f"{NO_TOOL} The nearest {'is' if len(names) == 1 else 'are'} {', '.join(names)}." if names else NO_TOOL


NO_TOOL = "There is no such tool."


def matching(pool: Pool, query: str) -> list[Entry] | None:
    """The tools that `/regex/` finds in name or description, names first; None for a query of another form."""
    found = REGEX.fullmatch(query)
    if found is None:
        return None
    if len(found[1]) > LONGEST_REGEX:
        raise ToolError(f"query: a regular expression may have up to {LONGEST_REGEX} characters, got {len(found[1])}.")
    # 20 ms that only this form needs. Unlike `re`, it can be told when to stop, and lets other threads run.
    regex: Any = import_module("regex")
    try:
        re.compile(found[1].encode())  # Its words about what is wrong are better.
        search = regex.compile(found[1].encode(), regex.IGNORECASE).search
    except (re.error, regex.error) as error:
        raise ToolError(f"query: {found[1]!r} is not a regular expression: {error}.") from None
    until = time.monotonic() + REGEX_SECONDS

    def fits(text: bytes) -> bool:
        return search(text, timeout=max(until - time.monotonic(), 0.001)) is not None

    try:
        named = [entry for entry in pool.entries if fits(entry.name.encode())]
        names = {entry.name for entry in named}
        return named + [entry for entry in pool.entries if entry.name not in names and fits(entry.definition)]
    except TimeoutError:
        raise ToolError(f"query: {found[1]!r} takes too long to match. Use a simpler one, or words.") from None


def required_words(query: str) -> tuple[list[str], str]:
    """The words that a name must contain, in small letters, and the query without their plus signs."""
    return [word.lower() for word in REQUIRED.findall(query)], REQUIRED.sub(r"\1", query)
