"""Convert HTML tables to Markdown tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WIDEST = 100
"""Columns beyond this are left out; a page must not make a table of a million columns with one attribute."""


def rows_of(table: Any, text_of: Callable[[Any], str]) -> list[tuple[bool, list[str]]]:
    """Each row as whether it is a heading and its cells; a cell over several columns is followed by empty ones."""
    rows = []
    for row in table.iter("tr"):
        cells: list[str] = []
        heads = 0
        for cell in row:
            if cell.tag not in ("td", "th") or len(cells) >= WIDEST:
                continue
            heads += cell.tag == "th"
            cells += [text_of(cell), *[""] * (_span(cell) - 1)]
        if any(cells):
            parent = row.getparent()
            in_head = parent is not None and parent.tag == "thead"
            rows.append((in_head or heads == sum(1 for cell in row if cell.tag in ("td", "th")), cells[:WIDEST]))
    return rows


def _span(cell: Any) -> int:
    said = cell.get("colspan") or "1"
    return min(int(said), WIDEST) if said.isascii() and said.isdigit() and len(said) < 5 and int(said) else 1


def written(rows: list[tuple[bool, list[str]]], *, plain: bool) -> list[str]:
    """The rows as one Markdown table; a table of a single column is a list of paragraphs."""
    if not rows:
        return []
    width = max(len(cells) for _, cells in rows)
    if width == 1:
        return [cells[0].replace("<br>", "\n") for _, cells in rows]
    if plain:
        return ["\n".join("\t".join(cell.replace("<br>", " ") for cell in cells) for _, cells in rows)]
    has_head = rows[0][0]
    head = rows[0][1] if has_head else [""] * width
    lines = [_line(head, width), "|" + " --- |" * width]
    lines += [_line(cells, width) for _, cells in (rows[1:] if has_head else rows)]
    return ["\n".join(lines)]


def _line(cells: list[str], width: int) -> str:
    padded = [*cells, *[""] * (width - len(cells))]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in padded) + " |"
