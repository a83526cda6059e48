"""What the model reads of a search: what was asked of whom, and the results, marked as untrusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_http import MARK, without_invisible, without_marks

if TYPE_CHECKING:
    from pegboard_websearch.websearch import WebSearchOutput


def one_line(text: str, most: int) -> str:
    """A text of a stranger as one line of limited length, without what cannot be seen."""
    whole = " ".join(without_invisible(text)[0].split())
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def worded(value: WebSearchOutput) -> str:
    """All of it, as text."""
    if value.notice:
        return value.notice
    shown = f"{len(value.results)} result{'' if len(value.results) == 1 else 's'}"
    lines = [f"{shown} from {value.backend}"]
    if value.withheld:
        lines[0] += f", {value.withheld} withheld by domain filters or rules"
    if not value.results and not value.summary:
        return f"{lines[0]}. Try other words, or fewer domains."
    lines.append(f'<{MARK} origin="web search">')
    for number, result in enumerate(value.results, 1):
        age = f" ({result.age})" if result.age else ""
        lines.append(f"{number}. {result.title or result.url}{age}\n   {result.url}")
        lines += [f"   {result.text}"] if result.text else []
    lines += [f"What the searching model says:\n{value.summary}"] if value.summary else []
    quarantined = [lines[0], lines[1], *(without_marks(line) for line in lines[2:]), f"</{MARK}>"]
    if value.results:
        quarantined.append("Name the addresses that you use as sources. WebFetch reads a page.")
    return "\n".join(quarantined)
