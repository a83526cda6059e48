"""Cut a page of text from a file: which lines, how many, and what does not fit."""

from __future__ import annotations

from dataclasses import dataclass

from pegboard import ToolError
from pegboard_files.encodings import Charset, newline_of, view_of

MAX_LINES = 2000
MAX_LINE_CHARS = 2000


@dataclass(frozen=True, slots=True)
class LineRange:
    """The range that the model asked for."""

    offset: int | None
    """The first line, counted from 1, or from the end when negative."""
    limit: int | None
    max_tokens: int

    @property
    def most(self) -> int:
        """The maximum number of lines."""
        return self.limit or MAX_LINES

    def first(self, total: int) -> int:
        """The number of the first line in a text with `total` lines."""
        if self.offset is None or self.offset == 0:
            return 1
        return self.offset if self.offset > 0 else max(total + self.offset + 1, 1)


@dataclass(frozen=True, slots=True)
class LinePage:
    """The lines that fit."""

    content: str
    lines: list[str]
    """The same as a list of lines: splitting is the expensive part of reading, so it is done once."""
    start: int
    total: int | None
    more: bool
    """Whether more lines follow."""
    cut: int
    """How many lines were too long."""
    capped: bool
    """Whether the token budget ended the page."""
    newline: str
    mixed: bool

    @property
    def count(self) -> int:
        """The number of lines on the page."""
        return len(self.lines)

    @property
    def complete(self) -> bool:
        """Whether the page is the whole file."""
        return self.start == 1 and not self.more and not self.cut and self.total is not None


def tokens_in(text: str) -> int:
    """An estimate that errs on the high side: a token per four ASCII characters, at least one per other character."""
    if text.isascii():
        return len(text) // 4 + 1
    return len(text) // 4 + (len(text.encode("utf-8", "surrogatepass")) - len(text)) // 2 + 1


def tokens_of_numbers(count: int, last: int) -> int:
    """The tokens that the line numbers take."""
    return count * (len(str(last)) + 2) // 4


def too_large(limit: int, max_tokens: int) -> ToolError:
    """The error for a range that does not fit: it is not cut, because the model asked for exactly these lines."""
    reason = f"These {limit} lines are more than {max_tokens} tokens."
    return ToolError(f"{reason} Use a smaller limit, or Grep to find the lines you need.", code="too_large")


def shortened(line: str, left_out: int = 0) -> str:
    """An over-long line, visibly cut."""
    hidden = len(line) - MAX_LINE_CHARS + left_out
    return f"{line[:MAX_LINE_CHARS]}… (cut: {hidden:,} more characters in this line)"


def page_of(body: bytes, charset: Charset, wanted: LineRange) -> LinePage:
    """The page of a text that fits in memory."""
    text = body.decode(charset.encoding)
    newline, mixed = newline_of(text)
    view = view_of(text, newline)
    if view.endswith("\n"):
        view = view[:-1]
    elif not view:
        return LinePage("", [], wanted.first(0), 0, False, 0, False, newline, mixed)
    lines = view.split("\n")
    total, cut = len(lines), 0
    start = wanted.first(total)
    if start != 1 or total > wanted.most or _has_long_line(view):
        lines = lines[start - 1 : start - 1 + wanted.most]
        cut = sum(len(line) > MAX_LINE_CHARS for line in lines)
        lines = [line if len(line) <= MAX_LINE_CHARS else shortened(line) for line in lines] if cut else lines
        view = "\n".join(lines)
    capped = tokens_in(view) + tokens_of_numbers(len(lines), start + len(lines)) > wanted.max_tokens
    if capped:
        if wanted.limit is not None:
            raise too_large(len(lines), wanted.max_tokens)
        lines = lines[: _fitting(lines, start, wanted.max_tokens)]
        cut = sum(len(line) > MAX_LINE_CHARS for line in lines)
        view = "\n".join(lines)
    more = start - 1 + len(lines) < total
    return LinePage(view, lines, start, total, more, cut, capped, newline, mixed)


def _has_long_line(view: str) -> bool:
    """Whether any line is too long, with one search per stretch of that length."""
    at = 0
    while len(view) - at > MAX_LINE_CHARS:
        end = view.rfind("\n", at, at + MAX_LINE_CHARS + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def _fitting(lines: list[str], start: int, max_tokens: int) -> int:
    """How many lines fit; at least one, so that the model can continue."""
    spent = 0
    for number, line in enumerate(lines):
        spent += tokens_in(line) + tokens_of_numbers(1, start + number)
        if spent > max_tokens:
            return max(number, 1)
    return len(lines)
