"""From a page to its main content: drop what is hidden or decoration, find the part that matters, write it down."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html

from pegboard_webfetch.markdown import Markdown, flat, squeezed
from pegboard_webfetch.urls import Refused, joined, parse

LITTLE = 200
"""A page with fewer characters of text is probably rendered with JavaScript."""
LARGEST_FOR_EXTRACTION = 1_000_000
"""Beyond this, finding the main text by statistics takes too long."""
WORTH_EXTRACTING = 1_000
"""A page with less text than this is shown whole."""
MOSTLY = 0.6
"""The share of a page's text beyond which what is hidden cannot be an aside."""
ENOUGH = 0.25
"""The share of a page's text that its main part must have to be believed."""

MAINS = (
    "//main",
    "//*[@role='main']",
    "//*[@itemprop='articleBody']",
    "//article",
    "//*[@id='main-content' or @id='mw-content-text' or @id='readme']",
    "//div[contains(concat(' ', normalize-space(@class), ' '), ' body ') and @role]",
)
DECORATION = (
    "//nav | //footer | //aside[not(ancestor::main or ancestor::article)] | //*[@role='navigation' or @role='banner' "
    "or @role='contentinfo' or @role='search' or @role='complementary'] | "
    "//header[not(ancestor::main or ancestor::article) and not(.//h1)]"
)
UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?![.\d]*[1-9])"
    r"|font-size\s*:\s*(?:0(?:\.0+)?(?:[a-z]+|%)?|1p[xt])\s*(?:[;!]|$)"
    r"|color\s*:\s*transparent|text-indent\s*:\s*-\d{3}|(?:left|top|right)\s*:\s*-\d{4}|clip\s*:\s*rect\(\s*0",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Converted:
    """A page as text."""

    text: str
    title: str = ""
    notes: list[str] = field(default_factory=list)


def converted(source: str, url: str, *, plain: bool = False) -> Converted:
    """The main content of a page as Markdown, or as plain text."""
    tree = _parsed(source)
    if tree is None:
        return Converted("", notes=["The page is empty."])
    base = _base(tree, url)
    page = Converted("", title=_title(tree))
    scripted = tree.find(".//script") is not None
    refresh = _refresh(tree, base)
    _drop_hidden(tree, page)
    body = tree.find("body") if tree.find("body") is not None else tree
    page.text = _main_text(tree, body, base, plain)
    if refresh:
        page.notes.append(f"The page redirects visitors to {refresh}; this was not followed.")
    if len(page.text) < LITTLE and scripted:
        page.notes.append("The page has little text; it probably needs JavaScript, which this tool does not run.")
    return page


def _parsed(source: str) -> Any:
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return lxml_html.document_fromstring(source.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        return None


def _base(tree: Any, url: str) -> str:
    said = tree.find(".//base[@href]")
    try:
        return urljoin(url, said.get("href")) if said is not None else url
    except ValueError:
        return url


def _title(tree: Any) -> str:
    title = tree.find(".//title")
    return squeezed(flat(title)).strip()[:300] if title is not None else ""


def _refresh(tree: Any, base: str) -> str:
    for meta in tree.iter("meta"):
        if (meta.get("http-equiv") or "").lower() == "refresh":
            _, _, where = (meta.get("content") or "").partition("=")
            try:
                return str(joined(parse(base), where.strip(" '\"")))
            except Refused:
                return "a URL that cannot be fetched"
    return ""


def _drop_hidden(tree: Any, page: Converted) -> None:
    """Remove what no visitor sees: hidden text is a common place for instructions to models."""
    doomed = [
        element
        for element in tree.iter(etree.Element)
        if element.get("hidden") is not None or ("style" in element.attrib and UNSEEN.search(element.get("style")))
    ]
    doomed = [element for element in doomed if element.getparent() is not None and element.tag not in ("html", "body")]
    hidden = [size for element in doomed if (size := len(flat(element).strip()))]
    if doomed and max(hidden, default=0) > MOSTLY * len(flat(tree).strip()):
        # Some sites fade in their whole content; dropping it would leave nothing.
        page.notes.append("Most of the page is hidden until its scripts run; it is shown anyway.")
        return
    for element in doomed:
        if element.getparent() is not None:
            element.drop_tree()
    if hidden:
        parts = "1 part" if len(hidden) == 1 else f"{len(hidden)} parts"
        page.notes.append(f"Removed: {parts} of the page that visitors cannot see.")


def _main_text(tree: Any, body: Any, base: str, plain: bool) -> str:
    writer = Markdown(base, plain=plain)
    whole = max(len(squeezed(flat(body))), 1)
    main = _marked_main(tree, whole)
    if main is not None:
        _drop_decoration(main)
        return writer.write(main)
    extracted = "" if plain or whole < WORTH_EXTRACTING else _by_statistics(tree, base, body)
    if len(extracted) >= ENOUGH * whole:
        return extracted
    _drop_decoration(body)
    return writer.write(body)


def _marked_main(tree: Any, whole: int) -> Any:
    """The element that the page itself marks as its main part, if most of the text is there."""
    for path in MAINS:
        found = tree.xpath(path)
        if not found:
            continue
        best = max(found, key=lambda element: len(flat(element)))
        if len(squeezed(flat(best))) >= ENOUGH * whole:
            return best
    return None


def _drop_decoration(element: Any) -> None:
    for noise in element.xpath(DECORATION.replace("//", ".//", 1).replace("| //", "| .//")):
        if noise is not element and noise.getparent() is not None:
            noise.drop_tree()


def _by_statistics(tree: Any, base: str, body: Any) -> str:
    """What trafilatura finds as the main text; empty when it loses tables or code."""
    if next(body.iter("pre"), None) is not None:
        return ""  # trafilatura drops the language of code blocks.
    source = lxml_html.tostring(tree, encoding="unicode")  # Without what was hidden.
    if len(source) > LARGEST_FOR_EXTRACTION:
        return ""
    import trafilatura  # 0.7 s to import, and only pages without marks of their own need it.

    found = trafilatura.extract(
        source,
        url=base,
        output_format="markdown",
        include_links=True,
        include_tables=True,
        include_formatting=True,
        include_comments=False,
        favor_recall=True,
    )
    if not found:
        return ""
    has_tables = any(table.find(".//th") is not None for table in body.iter("table"))
    return "" if has_tables and "---|" not in found.replace(" ", "") else str(found)
