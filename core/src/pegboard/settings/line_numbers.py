"""Find the line of a setting in its file, so that a message or a decision can point at it."""

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
    at = _find(text, 0, key, decoder)
    if at is None or text[at] != "[":
        return []
    return [text.count("\n", 0, item) + 1 for item in _items(text, at, decoder)]


def find_value(text: str, key: str) -> tuple[int, int] | None:
    """The line and column of the value of `key` in a JSON text that is known to be valid."""
    from json import JSONDecoder

    at = _find(text, 0, key, JSONDecoder())
    return None if at is None else (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))


def _find(text: str, at: int, key: str, decoder: JSONDecoder) -> int | None:
    """The place of the value of a dotted key, however much of it is written with dots."""
    for name, place in _members(text, at, decoder):
        if name == key:
            return place
        if key.startswith(f"{name}.") and text[place] == "{":
            inner = _find(text, place, key[len(name) + 1 :], decoder)
            if inner is not None:
                return inner
    return None


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
