"""A notebook as text with the places of its cells, so that one cell can change and all other bytes stay."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pegboard import ToolError

_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Span:
    """Where a cell is in the text."""

    start: int
    end: int


class Notebook:
    """A notebook of format 4, and where its cells are."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ToolError(f"{name} is not a valid notebook: it is not valid JSON ({error}).") from None
        if not isinstance(whole, dict) or not isinstance(whole.get("nbformat"), int):
            raise ToolError(f"{name} is not a valid notebook: it has no nbformat number.")
        if whole["nbformat"] != 4:
            reason = f"{name} has version {whole['nbformat']} of the notebook format; only version 4 can be edited."
            raise ToolError(f"{reason} Convert it with `jupyter nbconvert --to notebook`.", code="unsupported")
        cells = whole.get("cells")
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            raise ToolError(f"{name} is not a valid notebook: it has no list of cells.")
        self.cells: list[dict[str, Any]] = cells
        self.places, self._array = _places(text, name)
        self.language = str(_at(whole, "metadata", "kernelspec", "language") or _language(whole))
        minor = whole.get("nbformat_minor")
        self.has_ids = isinstance(minor, int) and minor >= 5
        """Cells have ids from format 4.5 on; before, an id makes a notebook invalid."""

    def replaced(self, at: int, cell: dict[str, Any]) -> str:
        """The text with another cell in this place."""
        place = self.places[at]
        return self.text[: place.start] + self._cell_text(cell, place.start) + self.text[place.end :]

    def inserted(self, at: int, cell: dict[str, Any]) -> str:
        """The text with one more cell, which then has this index."""
        if not self.places:
            return self._with_first(cell)
        if at == 0:
            start = self.places[0].start
            between = "," + self.text[self._array.start + 1 : start]
            return self.text[:start] + self._cell_text(cell, start) + between + self.text[start:]
        before = self.places[at - 1]
        gap = "," + self._gap_before(at - 1)
        return self.text[: before.end] + gap + self._cell_text(cell, before.start) + self.text[before.end :]

    def deleted(self, at: int) -> str:
        """The text without a cell."""
        place = self.places[at]
        if len(self.places) == 1:
            return self.text[: self._array.start + 1] + self.text[self._array.end - 1 :]
        if at + 1 < len(self.places):
            return self.text[: place.start] + self.text[self.places[at + 1].start :]
        return self.text[: self.places[at - 1].end] + self.text[place.end :]

    def _gap_before(self, at: int) -> str:
        """The white space in front of a cell."""
        start = self.places[at].start
        space = self.text[:start]
        return space[len(space.rstrip(" \t\r\n")) :]

    def _with_first(self, cell: dict[str, Any]) -> str:
        line = self.text.rfind("\n", 0, self._array.start) + 1
        lead = _SPACE.match(self.text, line)
        outer = lead.group() if lead and line else ""
        unit = outer or " "
        if "\n" not in self.text:
            body = f"[{self._dump(cell, None)}]"
        else:
            inner = outer + unit
            newline = self._newline
            body = f"[{newline}{inner}{self._indented(cell, unit, inner)}{newline}{outer}]"
        return self.text[: self._array.start] + body + self.text[self._array.end :]

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _cell_text(self, cell: dict[str, Any], start: int) -> str:
        """A cell as its neighbours are written: on one line, or indented as they are."""
        line = self.text.rfind("\n", 0, start) + 1
        lead = self.text[line:start]
        if not line or lead.strip():
            return self._dump(cell, None)
        inside = _SPACE.match(self.text, start + 1)
        unit = inside.group().rpartition("\n")[2].removeprefix(lead) if inside and "\n" in inside.group() else ""
        return self._indented(cell, unit, lead) if unit else self._dump(cell, None)

    def _indented(self, cell: dict[str, Any], unit: str, lead: str) -> str:
        # A line break inside a JSON string is always escaped, so every one here is between two values.
        return self._dump(cell, unit).replace("\n", self._newline + lead)

    def _dump(self, cell: dict[str, Any], indent: str | None) -> str:
        is_ascii = self.text.isascii() and "\\u" in self.text
        separators = (",", ": ") if indent is not None else None
        return json.dumps(cell, indent=indent, ensure_ascii=is_ascii, separators=separators)


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _language(whole: dict[str, Any]) -> str:
    return str(_at(whole, "metadata", "language_info", "name") or "")


def _places(text: str, name: str) -> tuple[list[Span], Span]:
    """Where the cells are, and where their list is. The text is valid JSON with a list of cells."""
    found: tuple[list[Span], Span] | None = None
    at = _skip(text, 0) + 1
    while text[at := _skip(text, at)] != "}":
        if text[at] == ",":
            at = _skip(text, at + 1)
        key, at = _decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if key != "cells":
            _, at = _decode(text, at)
            continue
        if found is not None:
            raise ToolError(f"{name} is not a valid notebook: it has two lists of cells.")
        start = at
        cells, at = _elements(text, at)
        found = cells, Span(start, at)
    if found is None:
        raise ToolError(f"{name} is not a valid notebook: it has no list of cells.")
    return found


def _elements(text: str, at: int) -> tuple[list[Span], int]:
    """Where the elements of a list are, and where the list ends."""
    cells: list[Span] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        if text[at] == ",":
            at = _skip(text, at + 1)
        _, end = _decode(text, at)
        cells.append(Span(at, end))
        at = _skip(text, end)
    return cells, at + 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
