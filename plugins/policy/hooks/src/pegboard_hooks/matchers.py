"""Which tools, sources or agents a group of handlers applies to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from pegboard.hosting import ALIASES

Matcher = Callable[[Iterable[str]], bool]
NAMES_ONLY = re.compile(r"[A-Za-z0-9_\- ,|]*", re.ASCII)


def matcher_of(text: object) -> tuple[Matcher, str]:
    """A test of names, and what is wrong with the text it was made from.

    Nothing, an empty text and `*` cover everything; letters, digits and `_ - , |` are names; anything else is a regular
    expression that may match anywhere in a name. What cannot be read covers everything: a guard must not go missing.
    """
    if text is None or text in ("", "*"):
        return _everything, ""
    if not isinstance(text, str):
        return _everything, f"The matcher must be text, got {text!r}. Until it is fixed, it matches everything."
    if NAMES_ONLY.fullmatch(text):
        wanted = frozenset(name.strip() for name in re.split(r"[|,]", text) if name.strip())
        return (lambda names: not wanted.isdisjoint(names)), ""
    try:
        pattern = re.compile(text)
    except re.error as error:
        reason = f"The matcher {text!r} is not a valid regular expression: {error}."
        return _everything, f"{reason} Until it is fixed, it matches everything."
    return (lambda names: any(pattern.search(name) for name in names)), ""


def _everything(names: Iterable[str]) -> bool:
    return True


@cache
def tool_names(name: str, aliases: tuple[str, ...] = ()) -> tuple[str, ...]:
    """A tool under each name that a matcher may call it by, former names too."""
    former = (old for old, new in ALIASES.items() if new == name)
    return (name, *aliases, *former)
