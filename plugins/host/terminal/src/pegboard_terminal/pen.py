"""Draw with rich: Markdown, results and lines become coloured text. Nothing that others wrote steers the terminal."""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text

DIFF = {"+": "green", "-": "red", "@@": "cyan"}
HUNK = re.compile(r"^ *@@ -", re.MULTILINE)
COLUMN = re.compile(r" *\S+(?: \S+)* {2,}(?=\S)")
"""The first of two columns."""
MOST_CHARACTERS = 20_000
"""What of a result is looked at to draw its first lines."""


def harmless(text: str) -> str:
    """Text of several lines without control characters, so that it cannot steer the terminal."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "" if c == "\r" else "\ufffd" for c in text)


class _Code(CodeBlock):
    """Code in the colours of the terminal, with no box around it: pieces of one block are drawn one after the other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(
            code, self.lexer_name, theme="ansi_dark", background_color="default", word_wrap=True, padding=(0, 2)
        )


class _Heading(Heading):
    """A heading at the left, in bold."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        self.text.stylize("bold underline" if self.tag == "h1" else "bold")
        yield self.text


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Code,
        "code_block": _Code,
        "heading_open": _Heading,
    }
    # Without HTML: rich would swallow it, and a person has to see what the model wrote.
    _parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup, self.parsed = text, self._parser.parse(text)


class Pen:
    """Draws for a terminal of some width; `NO_COLOR` and `TERM` are heeded."""

    def __init__(self, columns: Callable[[], int] = lambda: 80) -> None:
        self._columns = columns
        self._console = Console(
            file=io.StringIO(), force_terminal=True, width=80, highlight=False, legacy_windows=False
        )
        if os.environ.get("NO_COLOR"):
            self._console.no_color = True

    @property
    def width(self) -> int:
        """How many columns there are."""
        return max(self._columns(), 10)

    def markdown(self, text: str) -> list[str]:
        """Markdown of a model, as lines."""
        lines = self.lines(_Markdown(harmless(text)))
        while lines and not lines[0].strip():
            del lines[0]
        while lines and not lines[-1].strip():
            lines.pop()
        return lines

    def text(self, text: str, style: str = "") -> list[str]:
        """Plain text in a style, as lines; long lines are wrapped."""
        return self.lines(Text(harmless(text), style=style))

    def answer(self, text: str) -> list[str]:
        """What a command answers: columns stay columns where a line is wrapped, and a diff has colours."""
        is_diff = HUNK.search(text) is not None
        made = Text()
        for line in harmless(text).expandtabs().split("\n"):
            style = next((style for sign, style in DIFF.items() if line.lstrip(" ").startswith(sign)), "")
            made.append(_hanging(line, self.width) + "\n", style if is_diff else "")
        made.rstrip()
        return self.lines(made)

    def row(self, *parts: tuple[str, str]) -> str:
        """One line of texts with styles, cut where the screen ends."""
        text = Text.assemble(*((harmless(words).replace("\n", " "), style) for words, style in parts))
        text.no_wrap, text.overflow = True, "ellipsis"
        return "".join(self.lines(text)[:1])

    def lines(self, drawn: RenderableType) -> list[str]:
        """Anything that rich can draw, as lines."""
        return [self._line(segments) for segments in self._rows(drawn)]

    def first_lines(self, drawn: object, most: int) -> tuple[list[str], int]:
        """The first lines of a result as its tool draws it, and about how many more there are.

        A result may be huge, and the person is typing: what will not be shown is not drawn.
        """
        shortened, rest = shorten(drawn, most)
        rows = list(self._rows(shortened, indent=4))  # type: ignore[arg-type]
        while rows and not "".join(segment.text for segment in rows[-1]).strip():
            rows.pop()
        lines = [f"    {self._line(row)}" for row in rows[:most]]
        return lines, max(len(rows) - most, 0) + rest

    def _rows(self, drawn: RenderableType, indent: int = 0) -> Iterator[list[Segment]]:
        self._console.width = self.width
        options = self._console.options.update(width=max(self.width - indent, 10), height=None)
        yield from self._console.render_lines(drawn, options, pad=False)

    def _line(self, segments: Iterable[Segment]) -> str:
        clean = [
            Segment(harmless(part.text), part.style.update_link(None) if part.style else None)
            for part in segments
            if not part.control
        ]
        while clean and not clean[-1].text.strip() and not _is_coloured(clean[-1]):
            clean.pop()
        if clean and not _is_coloured(clean[-1]):  # Spaces at the end would wrap when the window becomes narrower.
            clean[-1] = Segment(clean[-1].text.rstrip(), clean[-1].style)
        return self._console._render_buffer(clean).rstrip("\n")


def _hanging(line: str, width: int) -> str:
    """A long line in several: what follows the first begins below its second column, or a little to the right."""
    if len(line) <= width or not line.isascii():
        return line
    column = COLUMN.match(line)
    begins = column.end() if column else 0
    indent = begins if begins <= width // 2 else len(line) - len(line.lstrip()) + 2
    wrapped = textwrap.wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False, drop_whitespace=True)
    return "\n".join(wrapped)


def _is_coloured(part: Segment) -> bool:
    """Whether even its spaces can be seen."""
    behind = part.style.bgcolor if part.style else None
    return behind is not None and not behind.is_default


def shorten(drawn: object, most: int) -> tuple[object, int]:
    """What is drawn without most of what will not be shown, and how many lines that were."""
    if isinstance(drawn, Syntax):
        code, rest = _head(drawn.code, most)
        if rest:
            return Syntax(code, drawn.lexer or "text", background_color="default"), rest
    if isinstance(drawn, Text | str):
        plain = drawn if isinstance(drawn, str) else drawn.plain
        head, rest = _head(plain, most)
        if rest:
            return Text(harmless(head)), rest
    return drawn, 0


def _head(text: str, most: int) -> tuple[str, int]:
    """The first lines of a text, a few more than are shown, and how many lines are left."""
    end = -1
    for _ in range(most + 1):
        end = text.find("\n", end + 1)
        if end < 0:
            break
    end = min(MOST_CHARACTERS, end if end >= 0 else len(text))
    rest = text[end:].strip("\n")
    return text[:end], rest.count("\n") + 1 if rest.strip() else 0
