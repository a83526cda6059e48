"""The text of a settings file or a variable as values, and the line of each: a fault is named with its place."""

from __future__ import annotations

from pegboard_settings.errors import SettingsError

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from json import JSONDecoder
    from typing import Any

    from pegboard_settings.keys import Key

MOST_DIGITS = 19
SPACE = " \t\r\n"


def from_variable(key: Key, text: str) -> Any:
    """A variable's text as the setting's kind."""
    if key.kind == "strings":
        return [word.strip() for word in text.split(",") if word.strip()]
    if key.kind in ("string", "choice", "mode"):
        return text
    if key.kind in ("count", "integer"):
        if text.strip().removeprefix("-").isdecimal() and len(text) < MOST_DIGITS:
            return int(text)
        raise SettingsError(f"Expected a whole number, got {text!r}.", source=key.variable)
    if key.kind in ("number", "amount"):
        try:
            return float(text)
        except ValueError:
            raise SettingsError(f"Expected a number, got {text!r}.", source=key.variable) from None
    if key.kind == "bool":
        if text.strip().lower() in SWITCHES:
            return SWITCHES[text.strip().lower()]
        raise SettingsError(f"Expected 1 or 0, got {text!r}.", source=key.variable)
    return parse(text.encode("utf-8", "surrogateescape"), key.variable)


SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def parse(raw: bytes, path: str) -> dict[str, Any]:
    """The object in a settings file; every fault is named with its line and column."""
    import json

    def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                raise SettingsError(f"Duplicate key {key!r}: one of the values would be lost.", source=path)
            made[key] = value
        return made

    def no_number(word: str) -> Any:
        raise SettingsError(f"{word} is not a number in JSON.", source=path)

    try:
        found = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=no_twins, parse_constant=no_number)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise SettingsError("This is not UTF-8 text.", source=path, line=line, column=column) from None
    except json.JSONDecodeError as error:
        raise SettingsError(
            f"This is not valid JSON: {error.msg}.", source=path, line=error.lineno, column=error.colno
        ) from None
    except ValueError:
        raise SettingsError("A number has too many digits.", source=path) from None
    except RecursionError:
        raise SettingsError("The JSON is nested too deeply.", source=path) from None
    if not isinstance(found, dict):
        raise SettingsError("Expected a JSON object.", source=path, line=1, column=1)
    return found


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
