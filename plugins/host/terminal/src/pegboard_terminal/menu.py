"""Choices with a cursor, in place of the input line: arrows or numbers choose, the space bar marks several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import anyio

from pegboard_terminal.pen import Pen

ONE = "↑↓ Enter, or a number · Ctrl-D declines · Esc stops"
SEVERAL = "↑↓ Space marks, or a number · Enter is done · Ctrl-D declines · Esc stops"
LEAST_PREVIEW = 3


@dataclass(frozen=True, slots=True)
class Item:
    """A choice as it is shown."""

    title: str
    description: str = ""
    preview: str = ""


class Menu:
    """Waits for a choice of the person. `wait` returns the numbers that were chosen, or None if they decline."""

    def __init__(self, question: str, items: Sequence[Item], *, multiple: bool, marked: Collection[int] = ()) -> None:
        self.question, self.items, self.multiple = question, items, multiple
        self.marked = set(marked) if multiple else set[int]()
        self.cursor = min(marked, default=0)
        self._done = anyio.Event()
        self._chosen: list[int] | None = None

    async def wait(self) -> list[int] | None:
        """The numbers of what was chosen, from 0; None for a person who declines."""
        await self._done.wait()
        return self._chosen

    # What keys do

    def move(self, by: int) -> None:
        """Go up or down, and around."""
        self.cursor = (self.cursor + by) % len(self.items)

    def pick(self, number: int) -> None:
        """Choose by number, from 1: at once, or mark it where several may be chosen."""
        if 1 <= number <= len(self.items):
            self.cursor = number - 1
            if self.multiple:
                self.mark()
            else:
                self.enter()

    def mark(self) -> None:
        """Mark what the cursor is on, or take the mark away."""
        if self.multiple:
            self.marked ^= {self.cursor}

    def enter(self) -> None:
        """Take what is marked, else what the cursor is on."""
        self._chosen = sorted(self.marked) if self.marked else [self.cursor]
        self._done.set()

    def decline(self) -> None:
        """Choose nothing."""
        self._done.set()

    # What is shown

    def rows(self, pen: Pen, most: int) -> list[str]:
        """The menu in at most so many lines: descriptions and the preview only as far as there is room."""
        head = pen.text(self.question, "bold")
        foot = [pen.row((f"  {SEVERAL if self.multiple else ONE}", "dim"))]
        whole = [line for number in range(len(self.items)) for line in self._item(pen, number, described=True)]
        short = [line for number in range(len(self.items)) for line in self._item(pen, number, described=False)]
        items = whole if len(head) + len(whole) + len(foot) <= most else short
        return [*head, *items, *self._preview(pen, most - len(head) - len(items) - len(foot)), *foot]

    def _item(self, pen: Pen, number: int, *, described: bool) -> list[str]:
        item, here = self.items[number], number == self.cursor
        mark = f"[{'x' if number in self.marked else ' '}] " if self.multiple else ""
        row = pen.row(("> " if here else "  ", "cyan"), (f"{mark}{number + 1}. {item.title}", "bold" if here else ""))
        if not described or not item.description:
            return [row]
        return [row, *(pen.row(("       ", ""), (line, "dim")) for line in _wrapped(item.description, pen.width - 8))]

    def _preview(self, pen: Pen, room: int) -> list[str]:
        text = self.items[self.cursor].preview
        if not text or room < LEAST_PREVIEW:
            return []
        lines = text.split("\n")
        shown = lines if len(lines) <= room else [*lines[: room - 1], f"… {len(lines) - room + 1} more lines"]
        return [pen.row(("     │ ", "cyan"), (line, "")) for line in shown]


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap  # Only a question with choices needs it.

    return textwrap.wrap(text, max(width, 20)) or [""]
