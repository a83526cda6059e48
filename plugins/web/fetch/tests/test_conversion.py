"""From pages as they are found in the wild to Markdown: what must survive, and what must not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pegboard_webfetch.html import converted

PAGES = Path(__file__).parent / "pages"
URL = "https://docs.example/guide/page.html"


def text_of(name):
    return converted((PAGES / name).read_text(), URL).text


def blocks_of(text):
    return re.findall(r"^```(\S*)\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


def test_a_sphinx_page_keeps_headings_code_tables_and_links():
    text = text_of("sphinx.html")
    assert re.findall(r"^#+ .*$", text, re.MULTILINE) == [
        "# ipaddr — Work with addresses",
        "## Quick start",
        "## Kinds",
    ]
    assert blocks_of(text) == [
        ("python", '>>> import ipaddr\n>>> ipaddr.parse("::1")\nAddress("::1")'),
        ("console", "$ pip install ipaddr\n$ ipaddr --check ::1"),
    ]
    assert "| Kind | Prefix |\n| --- | --- |\n| loopback | `::1/128` |\n| private | `fc00::/7` |" in text
    assert "[the tutorial](https://docs.example/tutorial.html)" in text
    assert "[`parse()`](https://docs.example/guide/page.html#ipaddr.parse)" not in text
    for noise in ("Previous topic", "Search", "Copyright", "¶"):
        assert noise not in text


def test_a_news_page_without_marks_keeps_the_story_and_drops_the_rest():
    text = text_of("news.html")
    assert "Council votes for the new bridge" in text
    assert "The council voted nine to two" in text
    assert "[the full report](https://docs.example/reports/bridge.pdf)" in text
    for noise in ("Subscribe to our newsletter", "Most read", "Accept all cookies"):
        assert noise not in text


def test_a_page_of_tables_keeps_every_cell_in_its_row():
    text = text_of("tables.html")
    assert text.count("| --- | --- | --- |") == 1
    assert "| Germany | Berlin | 83,200,000 |" in text
    assert "| a \\| b | c<br>d | |" in text.replace("|  |", "| |")
    assert "| Wide |  | end |" in text
    assert "| yes | no |" in text


def test_a_page_of_code_keeps_every_block_with_its_language():
    assert blocks_of(text_of("code.html")) == [
        ("js", "const a = 1;\n\nif (a) {\n  run(`x`);\n}"),
        ("rust", "fn main() {}"),
        ("python", "def f():\n    return 1"),
        ("sh", "ls -l"),
        ("", "no language <b>here</b>"),
        ("go", "package main"),
    ]


def test_code_with_fences_gets_a_longer_fence():
    page = converted("<main><pre><code class='language-md'>```js\nx\n```</code></pre></main>", URL)
    assert page.text == "````md\n```js\nx\n```\n````"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a <b>b</b><i> c </i>d</p>", "a **b** *c* d"),
        ("<p>one<br>two</p>", "one\ntwo"),
        ("<ul><li>a<ul><li>b</li></ul></li><li><p>c</p></li></ul>", "- a\n  - b\n- c"),
        ("<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        (
            "<p><a href='javascript:x()'>a</a> <a href='#b'>b</a> <a href='c d'>c</a></p>",
            "a b [c](https://docs.example/guide/c%20d)",
        ),
        ("<p><img src=/i.png alt='A dog'> <img src=t.gif></p>", "![A dog](https://docs.example/i.png)"),
        ("<p><code>a `b`</code> <code>c</code></p>", "`` a `b` `` `c`"),
        ("<dl><dt>Term</dt><dd>Meaning</dd></dl>", "**Term**\n\nMeaning"),
        ("<a href=/x><div><h3>Card</h3><p>Text</p></div></a>", "[Card Text](https://docs.example/x)"),
        ("<base href='https://other.example/y/'><p><a href=z>z</a></p>", "[z](https://other.example/y/z)"),
        ("<p>a</p><script>alert(1)</script><style>b{}</style><svg><text>c</text></svg>", "a"),
        ("<table><tr><td>alone</td></tr></table>", "alone"),
        ("<table><tr><td><table><tr><td>x</td><td>y</td></tr></table></td></tr></table>", "| x | y |"),
        ("", ""),
        ("<!-- nothing -->", ""),
        ("<p>unclosed <b>bold", "unclosed **bold**"),
    ],
)
def test_small_things_are_written_as_markdown(html, text):
    written = converted(html, URL).text
    assert text in written if html.startswith("<table><tr><td><table") else written == text


@pytest.mark.parametrize("tag", ["div", "b", "ul><li", "blockquote", "table><tr><td", "a href=x", "code"])
def test_a_page_nested_without_end_is_converted_all_the_same(tag):
    converted("<main>" + f"<{tag}>" * 5000 + "deep" + "</main>", URL)


def test_a_table_cannot_ask_for_a_million_columns():
    page = converted("<main><table><tr><th colspan=9999>a</th><th>b</th></tr><tr><td>1</td></tr></table></main>", URL)
    assert len(page.text) < 5000


def test_a_page_in_frames_of_text_only_is_kept_whole():
    page = converted("Just text &amp; nothing else", URL)
    assert page.text == "Just text & nothing else"
