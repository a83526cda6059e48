"""Cut Markdown into blocks while it is written, so that each block is drawn once and only the last one again.

The cost of an answer then depends on its longest block and not on its length. A block that grows too long is cut where
that is least visible: code between lines, a list between its items, a paragraph between lines, a table between its rows
with its head repeated. A line without an end is cut where it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
HEADING = re.compile(r"#{1,6}(?:\s|$)")
LONG_CODE, LONGEST_CODE = 24, 48
"""Lines of code after which a block may be cut before a line that is not indented, and before any line."""
LONG_LIST = 12
LONG_TEXT = 2_000
"""Characters after which a paragraph may be cut at the end of a line, or of a word."""
LONG_TABLE = 60
"""Lines of a table after which it is cut."""
LONGEST_LINE = 4 * LONG_TEXT
"""Characters after which a line is cut anywhere: drawing the rest of it again and again would hold up the keys."""
TABLE_RULE = re.compile(r" {0,3}\|?[ :|-]*-[ :|-]*")


@dataclass(frozen=True, slots=True)
class Block:
    """Markdown that can be drawn for itself."""

    text: str
    follows: bool = False
    """Whether it continues the block before it, with no empty line between them."""


class MarkdownBlocks:
    """Feed it text as it comes; it hands back the blocks that are finished. `rest` is the one that is not."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial = ""
        self._fence = self._opening = ""
        self._blank = self._follows = False
        self._size = 0

    def feed(self, text: str) -> list[Block]:
        """Take the next piece."""
        *lines, self._partial = (self._partial + text).split("\n")
        done: list[Block] = []
        for line in lines:
            self._take(line.removesuffix("\r"), done)
        if len(self._partial) > LONG_TEXT and not self._fence:
            self._cut_partial(done)
        while len(self._partial) > LONGEST_LINE:
            piece, self._partial = self._partial[:LONGEST_LINE], self._partial[LONGEST_LINE:]
            self._take(piece, done)
            if not self._fence:
                self._flush(done, follows=True)
        return done

    @property
    def rest(self) -> Block:
        """What is not finished."""
        return Block("\n".join([*self._lines, self._partial]), self._follows)

    def end(self) -> list[Block]:
        """The text is complete."""
        done: list[Block] = []
        if self._partial:
            self._take(self._partial, done)
        self._flush(done)
        self.__init__()  # type: ignore[misc]
        return done

    def _take(self, line: str, done: list[Block]) -> None:
        if self._fence:
            self._take_code(line, done)
        elif not line.strip():
            self._blank = bool(self._lines)
            self._lines.append("")
        else:
            self._take_text(line, done)

    def _take_code(self, line: str, done: list[Block]) -> None:
        found = FENCE.fullmatch(line)
        if found and found[1].startswith(self._fence) and not found[2].strip():
            self._lines.append(line)
            self._fence = ""
            if self._opening:
                self._flush(done)
                self._opening = ""
            return
        count = len(self._lines)
        is_long = count > LONGEST_CODE or self._size >= LONGEST_LINE
        if self._opening and (is_long or (count > LONG_CODE and line[:1].strip())):
            self._lines.append(self._fence)
            self._flush(done, follows=True)
            self._lines = [self._opening]
        self._lines.append(line)
        self._size += len(line)

    def _take_text(self, line: str, done: list[Block]) -> None:
        """A line that is not empty, outside code."""
        is_item, indented = bool(ITEM.match(line)), line[0] in " \t"
        was_item = bool(self._lines and ITEM.match(self._lines[0]))
        if fence := FENCE.fullmatch(line):
            if not indented:
                self._flush(done)
                self._opening = line
            self._fence = fence[1]
        elif HEADING.match(line):
            self._flush(done)
        elif self._blank and not indented:
            self._flush(done, follows=is_item and was_item)
        elif (is_item and was_item and len(self._lines) > LONG_LIST) or self._is_long(line, was_item):
            self._flush(done, follows=True)
        elif self._is_table() and (len(self._lines) > LONG_TABLE or self._size > LONGEST_LINE):
            head = self._lines[:2]
            self._flush(done, follows=True)
            self._lines = head
        self._blank = False
        self._lines.append(line)
        self._size += len(line)
        if HEADING.match(line):
            self._flush(done)

    def _is_long(self, line: str, in_list: bool) -> bool:
        """Whether a paragraph is so long that it is cut before this line."""
        return self._size > LONG_TEXT and not in_list and "|" not in line

    def _is_table(self) -> bool:
        return len(self._lines) > 1 and "|" in self._lines[0] and bool(TABLE_RULE.fullmatch(self._lines[1]))

    def _cut_partial(self, done: list[Block]) -> None:
        """A line without an end: cut it after a word."""
        head, space, tail = self._partial.rpartition(" ")
        if space and "|" not in head:
            self._take_text(head, done)
            self._flush(done, follows=True)
            self._partial = tail

    def _flush(self, done: list[Block], *, follows: bool = False) -> None:
        """What was collected is finished; `follows` is about what comes next."""
        text = "\n".join(self._lines).strip("\n")
        if text.strip():
            done.append(Block(text, self._follows))
        self._lines, self._size, self._blank = [], 0, False
        self._follows = follows and bool(text)
