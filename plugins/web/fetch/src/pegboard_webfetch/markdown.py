"""Turn a tree of HTML elements into Markdown: headings, lists, tables, fenced code, absolute links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin

from pegboard_webfetch.tables import rows_of, written

DEEPEST = 120
"""Below this many levels only text is kept, so that a page cannot exhaust the stack."""

BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup"),
        *(
            "hr",
            "html",
            "li",
            "main",
            "menu",
            "nav",
            "ol",
            "p",
            "pre",
            "search",
            "section",
            "summary",
            "table",
            "tbody",
        ),
        *("td", "tfoot", "th", "thead", "tr", "ul"),
    )
)
SILENT = frozenset(
    (
        *("script", "style", "template", "iframe", "object", "embed", "svg", "canvas", "audio", "video", "select"),
        *("button", "input", "textarea"),
    )
)
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~", "strike": "~~"}
ANCHOR = re.compile(r"^[\s¶#§🔗]*$")
LANGUAGE = re.compile(r"(?:language|lang|highlight-source|highlight|brush)[-:]([\w+#.-]+)")
NO_LANGUAGE = frozenset(
    {"default", "none", "text", "plaintext", "notranslate", "highlight", "plain", "wrapper", "line"}
)
NUMBERS = frozenset({"linenos", "lineno", "line-number", "gutter"})
BREAK = "\x00"
"""Marks a line break of the page until the paragraph is written; no page can contain it."""
SPACES = re.compile(r"[ \t\n\r\f\u00a0\x00]+")

Element = Any
"""An element of lxml, which has no types of its own."""


class Markdown:
    """Writes elements as Markdown, or with `plain` as text without markup."""

    def __init__(self, base: str, *, plain: bool = False) -> None:
        self._base, self._plain = base, plain
        self._writers: dict[str, Callable[[Element, int], list[str]]] = {
            **{f"h{level}": self._heading for level in range(1, 7)},
            **dict.fromkeys(("ul", "ol", "menu"), self._list),
            "pre": self._code,
            "table": self._table,
            "blockquote": self._quote,
            "hr": lambda _element, _depth: [] if self._plain else ["---"],
            "dt": self._term,
            "dd": self._definition,
            "li": self._item_alone,
        }

    def write(self, element: Element) -> str:
        """The whole of an element."""
        return "\n\n".join(self._blocks(element, 0)).strip()

    def _blocks(self, element: Element, depth: int) -> list[str]:
        """The paragraphs inside an element: runs of inline content between its blocks, and those blocks."""
        if depth > DEEPEST:
            return [text] if (text := squeezed(flat(element))) else []
        found: list[str] = []
        run: list[str] = [element.text or ""]

        def flush() -> None:
            if text := tidy("".join(run)):
                found.append(text)
            run.clear()

        for child in element:
            if isinstance(child.tag, str) and child.tag not in SILENT:
                if child.tag in BLOCKS or (child.tag != "a" and holds_block(child)):
                    flush()
                    found += self._block(child, depth + 1)
                else:
                    run.append(self._inline(child, depth + 1))
            run.append(child.tail or "")
        flush()
        return found

    def _block(self, element: Element, depth: int) -> list[str]:
        write = self._writers.get(element.tag, self._blocks)
        return write(element, depth)

    def _inline(self, element: Element, depth: int) -> str:
        tag = element.tag
        if not isinstance(tag, str) or tag in SILENT:
            return ""
        if tag == "br":
            return BREAK
        if tag == "img":
            return self._image(element)
        if depth > DEEPEST:
            return flat(element)
        inside = self._text(element, depth)
        if self._plain:
            return inside
        if tag == "a":
            return self._link(element, inside)
        if tag in ("code", "kbd", "samp", "tt"):
            return fenced_inline(flat(element)) if inside.strip() else inside
        return marked(inside, MARKS[tag]) if tag in MARKS else inside

    def _text(self, element: Element, depth: int) -> str:
        pieces = [element.text or ""]
        for child in element:
            apart = isinstance(child.tag, str) and child.tag in BLOCKS
            pieces += [" " if apart else "", self._inline(child, depth + 1), " " if apart else "", child.tail or ""]
        return "".join(pieces)

    def _link(self, element: Element, inside: str) -> str:
        text = squeezed(inside)
        href = (element.get("href") or "").strip()
        if ANCHOR.match(text) or "headerlink" in (element.get("class") or ""):
            return "" if href.startswith("#") or not text.strip() else text
        where = self._absolute(href)
        if not where:
            return inside
        lead, trail = inside[: len(inside) - len(inside.lstrip())], inside[len(inside.rstrip()) :]
        return f"{' ' if lead else ''}[{text.strip()}]({where}){' ' if trail else ''}"

    def _image(self, element: Element) -> str:
        alt, where = squeezed(element.get("alt") or ""), self._absolute((element.get("src") or "").strip())
        if not alt or self._plain:
            return alt
        return f"![{alt}]({where})" if where else alt

    def _absolute(self, href: str) -> str:
        if not href or href.startswith("#") or href.lower().startswith(("javascript:", "data:", "vbscript:")):
            return ""
        try:
            return urljoin(self._base, href).replace(" ", "%20").replace(")", "%29").replace("(", "%28")
        except ValueError:
            return ""

    def _heading(self, element: Element, depth: int) -> list[str]:
        text = squeezed(self._text(element, depth)).strip()
        if not text:
            return []
        return [text if self._plain else f"{'#' * int(element.tag[1])} {text}"]

    def _code(self, element: Element, depth: int) -> list[str]:
        text = code_text(element).replace("\r\n", "\n").strip("\n")
        if not text.strip():
            return []
        if self._plain:
            return [text]
        longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
        fence = "`" * (longest + 1)
        return [f"{fence}{language_of(element)}\n{text}\n{fence}"]

    def _quote(self, element: Element, depth: int) -> list[str]:
        inside = "\n\n".join(self._blocks(element, depth + 1))
        if self._plain or not inside:
            return [inside] if inside else []
        return ["\n".join(f"> {line}".rstrip() for line in inside.split("\n"))]

    def _list(self, element: Element, depth: int) -> list[str]:
        number, lines = _start_of(element), list[str]()
        for child in element:
            if not isinstance(child.tag, str) or child.tag in SILENT:
                continue
            inside = self._blocks(child, depth + 1)
            if not inside:
                continue
            sign = f"{number}. " if element.tag == "ol" else "- "
            number += 1
            lines.append(indented("\n\n".join(inside) if "```" in "".join(inside) else "\n".join(inside), sign))
        return ["\n".join(lines)] if lines else []

    def _item_alone(self, element: Element, depth: int) -> list[str]:
        inside = "\n".join(self._blocks(element, depth + 1))
        return [indented(inside, "- ")] if inside else []

    def _term(self, element: Element, depth: int) -> list[str]:
        inside = " ".join(self._blocks(element, depth + 1))
        return [inside if self._plain or "`" in inside or "**" in inside else f"**{inside}**"] if inside else []

    def _definition(self, element: Element, depth: int) -> list[str]:
        return self._blocks(element, depth + 1)

    def _table(self, element: Element, depth: int) -> list[str]:
        if is_code_table(element):
            return [block for pre in element.iter("pre") for block in self._code(pre, depth)]
        if any(True for _ in element.iterdescendants("table")) or next(element.iter("pre"), None) is not None:
            return self._blocks(element, depth + 1)  # Layout, not data: a cell with blocks cannot be written in a row.
        return written(rows_of(element, lambda cell: self._cell(cell, depth + 1)), plain=self._plain)

    def _cell(self, cell: Element, depth: int) -> str:
        return "<br>".join(" ".join(block.split()) for block in self._blocks(cell, depth + 1))


def holds_block(element: Element) -> bool:
    """Whether an inline element has a block inside, as sloppy pages do."""
    return any(child.tag in BLOCKS for child in element.iterdescendants())


def flat(element: Element) -> str:
    """All text of an element, unchanged."""
    return "".join(_texts(element))


def _texts(element: Element) -> Iterator[str]:
    for node in element.iter():
        if isinstance(node.tag, str) and node.tag not in SILENT and node.text:
            yield node.text
        if node is not element and node.tail:
            yield node.tail


def squeezed(text: str) -> str:
    """Collapse runs of whitespace into one space."""
    return SPACES.sub(" ", text)


def tidy(text: str) -> str:
    """A paragraph: single spaces, and line breaks only where the page has them."""
    return "\n".join(squeezed(line).strip() for line in text.split(BREAK)).strip()


def marked(inside: str, sign: str) -> str:
    """Emphasis, with whitespace kept outside the markers."""
    text = inside.strip()
    if not text or sign in text:
        return inside
    lead, trail = " " if inside[0].isspace() else "", " " if inside[-1].isspace() else ""
    return f"{lead}{sign}{text}{sign}{trail}"


def fenced_inline(text: str) -> str:
    """Inline code, whatever backticks it holds."""
    text = squeezed(text).strip()
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def indented(text: str, sign: str) -> str:
    """A list item whose further lines are indented to its first word."""
    pad = " " * len(sign)
    return sign + "\n".join(f"{pad}{line}" if number and line else line for number, line in enumerate(text.split("\n")))


def _start_of(element: Element) -> int:
    start = element.get("start") or "1"
    return int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1


def code_text(element: Element) -> str:
    """The text of a code block; line breaks may be elements, and line numbers are no part of it."""
    pieces = list[str]()
    todo: list[Element | str] = [element]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif node.tag == "br":
            pieces.append("\n")
        elif isinstance(node.tag, str) and NUMBERS.isdisjoint((node.get("class") or "").split()):
            for child in reversed(node):
                todo += [child.tail or "", child]
            todo.append(node.text or "")
    return "".join(pieces)


def language_of(element: Element) -> str:
    """The language of a code block, as the block, its code or its parent declares."""
    near = [element, *element.iter("code")]
    for _ in range(3):
        element = element.getparent()
        if element is None:
            break
        near.append(element)
    for node in near:
        if told := node.get("data-lang") or node.get("data-language"):
            return str(told).strip()[:30] if re.fullmatch(r"\s*[\w+#.-]+\s*", told) else ""
        for word in (node.get("class") or "").replace("brush: ", "brush:").split():
            found = LANGUAGE.fullmatch(word)
            if found and found[1].lower() not in NO_LANGUAGE:
                return found[1].lower()
    return ""


def is_code_table(element: Element) -> bool:
    """Whether a table only puts line numbers next to code."""
    classes = element.get("class") or ""
    return any(name in classes for name in ("highlighttable", "rouge-table", "codehilitetable", "hljs-ln"))
