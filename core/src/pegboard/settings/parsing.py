"""The text of a settings file or a variable as values; every fault is named with its place."""

from __future__ import annotations

from pegboard.errors import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pegboard.settings.keys import Key

MOST_DIGITS = 19


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
