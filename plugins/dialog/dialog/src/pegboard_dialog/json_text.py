"""Change one value in a JSON text and leave every other byte as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SPACE = " \t\r\n"
INDENT = "  "
REMOVE = object()
"""The value that takes a key away."""


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    start: int
    """Where its name begins."""
    value: int
    end: int


def with_value(text: str, key: str, value: Any) -> str:
    """The text of an object with this dotted key set, or taken away. The text must be valid JSON."""
    if not text.strip():
        text = "{}\n"
    place = _skip(text, 0)
    return _change(text, place, key, value, depth=1)


def _change(text: str, at: int, key: str, value: Any, depth: int) -> str:
    members = list(_members(text, at))
    for member in members:
        if member.name == key:
            if value is REMOVE:
                return _without(text, at, members, member)
            return text[: member.value] + json.dumps(value, ensure_ascii=False) + text[member.end :]
        if key.startswith(f"{member.name}.") and text[member.value] == "{":
            return _change(text, member.value, key[len(member.name) + 1 :], value, depth + 1)
    return text if value is REMOVE else _with_member(text, at, members, _nested(key, value, depth), depth)


def _nested(key: str, value: Any, depth: int) -> str:
    """A new member: one object in another for each dot."""
    name, dot, rest = key.partition(".")
    if not dot:
        return f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
    inner = f"{INDENT * (depth + 1)}{_nested(rest, value, depth + 1)}"
    return f"{json.dumps(name, ensure_ascii=False)}: {{\n{inner}\n{INDENT * depth}}}"


def _with_member(text: str, at: int, members: list[_Member], made: str, depth: int) -> str:
    if not members:
        end = _skip(text, at + 1)
        return f"{text[: at + 1]}\n{INDENT * depth}{made}\n{INDENT * (depth - 1)}{text[end:]}"
    last = members[-1]
    before = text[_before(text, last.start) : last.start]
    return f"{text[: last.end]},{before}{made}{text[last.end :]}"


def _without(text: str, at: int, members: list[_Member], gone: _Member) -> str:
    place = members.index(gone)
    if len(members) == 1:
        return text[: at + 1] + text[_skip(text, gone.end) :]
    if place + 1 < len(members):
        return text[: gone.start] + text[members[place + 1].start :]
    return text[: members[place - 1].end] + text[gone.end :]


def _members(text: str, at: int) -> Iterator[_Member]:
    decoder = json.JSONDecoder()
    at = _skip(text, at + 1)
    while text[at] != "}":
        start = at
        name, at = decoder.raw_decode(text, at)
        value = _skip(text, _skip(text, at) + 1)
        _, end = decoder.raw_decode(text, value)
        yield _Member(name, start, value, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    while text[at] in SPACE:
        at += 1
    return at


def _before(text: str, at: int) -> int:
    """Where the space before a place begins."""
    while text[at - 1] in SPACE:
        at -= 1
    return at
