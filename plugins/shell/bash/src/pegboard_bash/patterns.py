"""Which files an unquoted pattern may match: at least those that bash would match, rarely a few more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import translate

from pegboard_bash.words import Word

MOST_FILES = 512
MOST_LEVELS = 2
"""Folders of wildcards in one pattern: each multiplies the work of looking."""

CLASS = re.compile(r"\[([:.=])[^\]]*?\1\]")
WILD = re.compile(r"[*?\[]")
PLAIN = re.compile(r"\[\w+\]", re.ASCII)
QUOTING = frozenset("\\'\"$`")


def matches(word: Word, cwd: str, most: int = MOST_FILES) -> list[str] | None:
    """The files that a pattern matches now; None where that cannot be told, or where they are too many."""
    # Quotes may have made a bracket plain text, of any length; without them it matches one character.
    quoted = any(sign in word.source for sign in QUOTING)
    if not can_be_a_name(word.text):
        return None
    pattern = _without_brackets(word.text, "*" if quoted else "?")
    if pattern is None or sum(WILD.search(name) is not None for name in pattern.split("/")) > MOST_LEVELS:
        return None
    found: list[str] = []
    for name in _expanded("", pattern.split("/"), cwd):
        found.append(name)
        if len(found) > most:
            return None
    return sorted(found)


def can_be_a_name(text: str) -> bool:
    """Whether a file can have this name at all: it holds no NUL, and each character is one that can be stored."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _without_brackets(text: str, instead: str) -> str | None:
    """The pattern with another wildcard for each bracket expression that is more than a few plain characters."""
    made, at = "", 0
    while at < len(text):
        if text[at] != "[":
            made, at = made + text[at], at + 1
            continue
        end = _bracket_end(text, at)
        if end is None:
            return None  # bash takes a bracket that is never closed for itself, but looks further than this.
        bracket = text[at:end]
        made, at = made + (bracket if instead == "?" and PLAIN.fullmatch(bracket) else instead), end
    return made


def _bracket_end(text: str, at: int) -> int | None:
    inside = at + 1
    inside += text[inside : inside + 1] in ("!", "^")
    inside += text[inside : inside + 1] == "]"
    while inside < len(text):
        if named := CLASS.match(text, inside):
            inside = named.end()
        elif text[inside] == "]":
            return inside + 1
        elif text[inside] in "[/":
            return None
        else:
            inside += 1
    return None


def _expanded(folder: str, names: list[str], cwd: str) -> Iterator[str]:
    """Name by name, as the shell walks: a plain name must exist only where something follows a wildcard."""
    if not names:
        if folder and os.path.lexists(os.path.join(cwd, folder)):
            yield folder
        return
    first, rest = names[0], names[1:]
    if not WILD.search(first):
        yield from _expanded(f"{folder}{first}/" if rest else f"{folder}{first}", rest, cwd)
        return
    for name in _listed(os.path.join(cwd, folder), first):
        yield from _expanded(f"{folder}{name}/" if rest else f"{folder}{name}", rest, cwd)


def _listed(folder: str, pattern: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    exact = re.compile(translate(pattern))
    # What one character is depends on the locale of the command: beyond ASCII a `?` may be one byte or several.
    wide = re.compile(translate(pattern.replace("?", "*").replace("[", "*[")))
    if pattern.startswith("."):
        names += [".", ".."]  # Before bash 5.2 `.*` matches these as well.
    for name in names:
        hidden = name.startswith(".") and not pattern.startswith(".")
        if not hidden and (exact if name.isascii() else wide).match(name):
            yield name
