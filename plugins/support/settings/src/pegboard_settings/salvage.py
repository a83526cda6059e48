"""What is left of a value when its malformed entries are left out: one slip in a shared file must not cost the rest."""

from __future__ import annotations

from pegboard_settings.keys import misfit
from pegboard_settings.parsing import find_lines, find_value
from pegboard_settings.wording import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pegboard_settings.keys import Key

NOTHING = object()


def salvage(key: Key, value: Any, text: str) -> tuple[Any, list[tuple[int | None, str]]] | None:
    """What is left, and a line and a sentence for each entry that is not; None where nothing may be left out.

    A guard is read whole or not at all, except for entries that its declaration does not name in `choices`.
    """
    if key.kind == "lists" and isinstance(value, dict):
        bad = {name: item for name, item in value.items() if not isinstance(item, list)}
        if any(not key.choices or name in key.choices for name in bad):
            return None
        kept = {name: item for name, item in value.items() if name not in bad}
        return kept, [_member(key, name, item, "a list", text) for name, item in bad.items()]
    if key.guard:
        return None
    if key.kind == "map" and isinstance(value, dict):
        bad = {name: item for name, item in value.items() if misfit(key, {name: item})}
        kept = {name: item for name, item in value.items() if name not in bad}
        return kept, [_member(key, name, item, "text", text) for name, item in bad.items()]
    if key.kind in ("rules", "strings") and isinstance(value, list):
        return _items(key, value, text)
    place = find_value(text, key.name) if text else None
    return NOTHING, [(place[0] if place else None, misfit(key, value) or "")]


def _items(key: Key, value: list[Any], text: str) -> tuple[Any, list[tuple[int | None, str]]]:
    lines = find_lines(text, key.name) if text else []
    kept, said = [], list[tuple[int | None, str]]()
    for number, item in enumerate(value):
        wrong = misfit(key, [item])
        if wrong:
            said.append((lines[number] if number < len(lines) else None, wrong))
        else:
            kept.append(item)
    return kept, said


def _member(key: Key, name: str, item: Any, wanted: str, text: str) -> tuple[int | None, str]:
    place = find_value(text, f"{key.name}.{name}") if text else None
    return (place[0] if place else None), f"{key.name}.{name} must be {wanted}, got {shown(item)}."
