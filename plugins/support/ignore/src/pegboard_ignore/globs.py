"""Globs as regular expressions: `*`, `**`, `?`, `[...]` and `{a,b}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise

MOST_BRANCHES = 1000
"""Braces multiply; a pattern that expands to more patterns than this is a mistake or an attack."""

WILD = frozenset("*?[{\\")


class GlobError(ValueError):
    """A pattern that cannot be parsed; the message says why."""


def expand(pattern: str) -> list[str]:
    """The patterns that a pattern with braces expands to, in order; `{a}` alone is `a`."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        found = _first_braces(text)
        if found is None:
            done.append(text)
        else:
            head, choices, tail = found
            waiting += [f"{head}{choice}{tail}" for choice in reversed(choices)]
        if len(done) + len(waiting) > MOST_BRANCHES:
            raise GlobError(f"its braces expand to more than {MOST_BRANCHES} patterns")
    return list(dict.fromkeys(done))


def _first_braces(text: str) -> tuple[str, list[str], str] | None:
    at, depth, start, cuts = 0, 0, -1, list[int]()
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif sign == "[" and (end := _class_end(text, at)) > 0:
            at = end
        elif sign == "{":
            start, depth = (at if not depth else start), depth + 1
        elif sign == "," and depth == 1:
            cuts.append(at)
        elif sign == "}" and depth:
            depth -= 1
            if not depth:
                edges = [start, *cuts, at]
                choices = [text[left + 1 : right] for left, right in pairwise(edges)]
                return text[:start], choices, text[at + 1 :]
        at += 1
    if depth:
        raise GlobError("a brace is never closed")
    return None


def split_list(text: str) -> list[str]:
    """Patterns separated by commas; a comma inside braces or brackets belongs to its pattern."""
    parts, depth, start, at = list[str](), 0, 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "[" and (end := _class_end(text, at)) > 0:
            at = end
        elif text[at] in "{}":
            depth += 1 if text[at] == "{" else -1
        elif text[at] == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _class_end(text: str, start: int) -> int:
    """The index at which the character class that starts here ends, or -1."""
    at = start + 1
    if text[at : at + 1] in ("!", "^"):
        at += 1
    if text[at : at + 1] == "]":
        at += 1
    while at < len(text) and text[at] != "]":
        at += 2 if text[at] == "\\" else 1
    return at if at < len(text) else -1


def translate(pattern: str) -> str:
    """A pattern without braces as a regular expression for a whole relative path; neither `*` nor `?` crosses `/`."""
    names = [name for at, name in enumerate(pattern.split("/")) if name or not at]
    names = [name for at, name in enumerate(names) if name != "**" or names[at - 1 : at] != ["**"]]
    if names == ["**"]:
        return ".*"
    made, last = "", len(names) - 1
    for at, name in enumerate(names):
        if name == "**":
            made += "(?:.*/)?" if at < last else ".+"
        else:
            made += name_regex(name) + ("/" if at < last else "")
    return made


def name_regex(name: str) -> str:
    """One name of a pattern, between two slashes; no name is empty."""
    if name.strip("*") == "":
        return "[^/]+"
    made, at = list[str](), 0
    while at < len(name):
        sign = name[at]
        if sign == "*":
            if made[-1:] != ["[^/]*"]:
                made.append("[^/]*")
        elif sign == "?":
            made.append("[^/]")
        elif sign == "[":
            end = _class_end(name, at)
            if end < 0:
                raise GlobError("a character class is never closed")
            made.append(_class_regex(name[at + 1 : end]))
            at = end
        elif sign == "\\":
            at += 1
            if at == len(name):
                raise GlobError("it ends with a dangling backslash")
            made.append(re.escape(name[at]))
        else:
            made.append(re.escape(sign))
        at += 1
    return "".join(made)


def _class_regex(inside: str) -> str:
    negated = inside[0] in "!^"
    body, at = list[str](), int(negated)
    members: list[str] = []
    while at < len(inside):
        if inside[at] == "\\" and at + 1 < len(inside):
            at += 1
        elif inside[at] == "-" and members and at < len(inside) - 1:
            members.append("-")
            at += 1
            continue
        members.append(inside[at] if inside[at] != "-" else "\\-")
        at += 1
    at = 0
    while at < len(members):
        low = members[at]
        if members[at + 1 : at + 2] == ["-"] and at + 2 < len(members):
            high = members[at + 2]
            if ord(high[-1]) < ord(low[-1]):
                raise GlobError(f"the range {low[-1]}-{high[-1]} in a character class is reversed")
            body.append(f"{_member(low)}-{_member(high)}")
            at += 3
        else:
            body.append(_member(low))
            at += 1
    return f"(?!/)[{'^' if negated else ''}{''.join(body)}]"


def _member(sign: str) -> str:
    return "\\" + sign[-1] if sign[-1] in "\\]^-[&~|" else sign[-1]


def is_literal(text: str) -> bool:
    """Whether a part of a pattern is literal."""
    return WILD.isdisjoint(text)


ENDING = re.compile(r"\*\*/\*(\.[^*?\[\]{}\\/]+)\Z")


class Matcher:
    """A compiled pattern: which names in a folder match, and which folders can contain a match."""

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        """Compile a pattern; a leading `!` negates it. Raises `GlobError`."""
        self.negated = pattern.startswith("!")
        self.patterns = [text.removeprefix("./") for text in expand(pattern.removeprefix("!"))]
        flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
        whole = "|".join(map(translate, self.patterns))
        self._fits = re.compile(f"(?:{whole})\\Z", flags).match
        self._endings: tuple[str, ...] = ()
        endings = [ENDING.match(text) for text in self.patterns]
        if all(endings) and not ignore_case and not self.negated:
            self._endings = tuple(found[1] for found in endings if found)
        anywhere = self.negated or any(text.startswith("**") for text in self.patterns)
        holds = "|".join(_holding(text) for text in self.patterns)
        self.may_hold: Callable[[str], object] | None = None if anywhere else re.compile(f"(?:{holds})\\Z", flags).match
        """Tests whether a folder, given by its relative path, can contain a match; None when any folder can."""

    def pick(self, relative: str, names: Iterable[str]) -> list[str]:
        """The names that match; `relative` is their folder, empty or ending with a slash."""
        if self._endings:
            endings = self._endings
            return [name for name in names if name.endswith(endings)]
        fits = self._fits
        if self.negated:
            return [name for name in names if not fits(relative + name)]
        return [name for name in names if fits(relative + name)]

    @property
    def names(self) -> frozenset[str]:
        """Every name that the pattern spells out, such as `node_modules` in `node_modules/*/package.json`."""
        return frozenset(name for text in self.patterns for name in text.split("/") if name and is_literal(name))


def _holding(pattern: str) -> str:
    """A regular expression for the folders that can contain a match."""
    made = ""
    names = [name for name in pattern.split("/") if name][:-1]
    if pattern.endswith("**"):
        names.append("**")
    for name in reversed(names):
        made = ".*" if name == "**" else f"{name_regex(name)}(?:/{made})?" if made else name_regex(name)
    return made or "(?!)"
