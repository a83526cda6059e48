"""Tables in HTML as Markdown, which a model reads with fewer words."""

from __future__ import annotations

from html.parser import HTMLParser

MOST_ROWS, MOST_CELLS = 200, 50


def markdown_of(html: str) -> str:
    """The first table as Markdown; empty where there is none."""
    reader = _TableReader()
    reader.feed(html)
    reader.close()
    rows = [row for row in reader.rows if any(row)]
    if not rows:
        return ""
    width = min(max(map(len, rows)), MOST_CELLS)
    lines = [_line([*row, *[""] * width][:width]) for row in rows[: MOST_ROWS + 1]]
    lines.insert(1, "|" + " --- |" * width)
    left = len(rows) - 1 - MOST_ROWS
    if left > 0:
        lines.append(f"({left:,} more rows)")
    return "\n".join([*lines, *reader.after])


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class _TableReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.after: list[str] = []
        """What follows the table, such as how many rows there are in all."""
        self._cell: list[str] | None = None
        self._depth, self._is_over, self._hidden = 0, False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("style", "script"):
            self._hidden = True
        if tag == "table":
            self._depth += 1
        elif self._depth and not self._is_over and tag == "tr":
            self.rows.append([])
        elif self._depth and not self._is_over and tag in ("td", "th") and self.rows:
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script"):
            self._hidden = False
        if tag in ("td", "th") and self._cell is not None:
            self.rows[-1].append(" ".join("".join(self._cell).split()))
            self._cell = None
        elif tag == "table" and self._depth:
            self._depth -= 1
            self._is_over = self._is_over or not self._depth

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._cell is not None:
            self._cell.append(data)
        elif self._is_over and data.strip():
            self.after.append(data.strip())
