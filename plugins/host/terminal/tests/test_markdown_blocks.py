"""Cutting Markdown while it is written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_terminal.markdown_blocks import LONG_TEXT, LONGEST_CODE, LONGEST_LINE, Block, MarkdownBlocks
from pegboard_terminal.pen import Pen, harmless


def cut(text: str, size: int = 7) -> list[Block]:
    blocks = MarkdownBlocks()
    done = [block for at in range(0, len(text), size) for block in blocks.feed(text[at : at + size])]
    return [*done, *blocks.end()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\ntext\n\nmore", ["# A", "text", "more"]),
        ("- a\n\n  b\n- c", ["- a\n\n  b\n- c"]),
        ("- a\n\n- b", ["- a", "- b"]),
        ("text\n```py\na\n\nb\n```\nend", ["text", "```py\na\n\nb\n```", "end"]),
        ("````\n```\n````\nend", ["````\n```\n````", "end"]),
        ("| a |\n|---|\n| 1 |\n\nend", ["| a |\n|---|\n| 1 |", "end"]),
        ("```\nnever closed", ["```\nnever closed"]),
        ("\n\n", []),
    ],
)
def test_blocks_end_where_the_next_begins(text: str, expected: list[str]) -> None:
    assert [block.text for block in cut(text)] == expected


@given(st.text("ab# -`|\n1.>", max_size=200), st.integers(1, 9))
def test_nothing_is_lost_and_the_pieces_do_not_depend_on_how_the_text_came(text: str, size: int) -> None:
    pieces = cut(text, size)
    assert pieces == cut(text, 1000)
    assert re.sub(r"\s", "", "".join(block.text for block in pieces)) == re.sub(r"\s", "", text)


def test_no_block_grows_with_the_answer() -> None:
    code = "```python\n" + "".join(f"    x = {number}\n" for number in range(500)) + "```\n"
    items = "".join(f"- item {number}\n" for number in range(500))
    table = "| a | b |\n|---|---|\n" + "".join(f"| {number} | text |\n" for number in range(1_000))
    cases = [(code, LONGEST_CODE * 20), (items, 400), ("word " * 5_000, LONG_TEXT + 100), (table, 2_000)]
    endless = "x" * 20 * LONGEST_LINE
    cases += [(endless, LONGEST_LINE + 100), (f"| {endless}", LONGEST_LINE + 100)]
    cases += [(f"```\n{endless}\n```", 2 * LONGEST_LINE + 100), ("```\n" + "long " * 9_000, 2 * LONGEST_LINE + 100)]
    for text, most in cases:
        pieces = cut(text, 24)
        assert len(pieces) > 4
        assert max(len(block.text) for block in pieces) < most
        assert all(block.follows for block in pieces[1:])


def test_the_pieces_of_a_long_table_are_tables() -> None:
    head = "| a | b |\n|---|---|\n"
    pieces = cut(head + "".join(f"| {number} | text |\n" for number in range(500)))
    assert all(block.text.startswith(head) for block in pieces)
    rows = [row for block in pieces for row in block.text.splitlines()[2:]]
    assert rows == [f"| {number} | text |" for number in range(500)]


def test_drawn_text_has_no_escapes_of_others() -> None:
    assert harmless("a\x1b[31mb\u202ec\r\nd") == "a\ufffd[31mb\ufffdc\nd"
    lines = Pen(lambda: 60).markdown("[x](http://a\x1b]8;;)\n\n\x1b[2J")
    assert not [line for line in lines if "\x1b]" in line or "\x1b[2J" in line]


def test_a_huge_result_is_drawn_only_as_far_as_it_is_shown() -> None:
    lines, rest = Pen().first_lines("line\n" * 400_000, 8)
    assert lines == ["    line"] * 8
    assert rest == 399_992
