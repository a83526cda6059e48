"""Results for a terminal. Only a terminal needs `rich`, and not every host has it."""

from __future__ import annotations

from collections.abc import Iterable


def terminal_rows(rows: Iterable[tuple[str, str]]) -> object | None:
    """A dim name and a value in each line; None where `rich` is not installed."""
    try:
        from rich.text import Text  # Only a terminal needs it.
    except ImportError:
        return None
    shown = Text()
    for number, (name, value) in enumerate(rows):
        shown.append("\n" if number else "")
        shown.append(name, style="dim")
        shown.append(value, style="bold")
    return shown


def terminal_markdown(text: str) -> object | None:
    """Markdown; None where `rich` is not installed."""
    try:
        from rich.markdown import Markdown  # Only a terminal needs it.
    except ImportError:
        return None
    return Markdown(text, hyperlinks=False)
