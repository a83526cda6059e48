"""Find the line of a rule in its settings file, so that a decision can point at it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from json import JSONDecoder

SPACE = " \t\r\n"


def lines_of(source: str, key: str) -> list[int]:
    """The line of each item of a list setting such as `permissions.deny`; empty where there is no such file or list."""
    try:
        with open(source, "rb") as stream:
            text = stream.read().decode("utf-8-sig")
        return find_lines(text, key)
    except (OSError, ValueError, RecursionError, IndexError):
        return []


def find_lines(text: str, key: str) -> list[int]:
    """The line of each item of the list `key` in a JSON text that is known to be valid."""
    from json import JSONDecoder

    decoder = JSONDecoder()
    group, _, inner = key.partition(".")
    for name, at in _members(text, 0, decoder):
        if name == key and text[at] == "[":
            return [text.count("\n", 0, item) + 1 for item in _items(text, at, decoder)]
        if inner and name == group and text[at] == "{":
            for member, place in _members(text, at, decoder):
                if member == inner and text[place] == "[":
                    return [text.count("\n", 0, item) + 1 for item in _items(text, place, decoder)]
    return []


def _members(text: str, at: int, decoder: JSONDecoder) -> Iterator[tuple[str, int]]:
    """Each key of the object at `at`, with the place of its value."""
    at = _skip(text, _skip(text, at) + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # over the colon
        yield name, at
        _, at = decoder.raw_decode(text, at)
        at = _next(text, at)


def _items(text: str, at: int, decoder: JSONDecoder) -> Iterator[int]:
    """The place of each item of the list at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        _, at = decoder.raw_decode(text, at)
        at = _next(text, at)


def _next(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    while text[at] in SPACE:
        at += 1
    return at
