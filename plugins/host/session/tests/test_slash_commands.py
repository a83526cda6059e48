"""Which lines call a slash command."""

from __future__ import annotations

import pytest

from pegboard_session import split_slash_command


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/help", ("help", "")),
        ("/compact keep the plan ", ("compact", "keep the plan")),
        ("/review\nthese lines\nand those", ("review", "these lines\nand those")),
        ("/plugin:name x", ("plugin:name", "x")),
        ("/etc/hosts is a file", None),
        ("/", None),
        ("/ ", None),
        ("a /help", None),
        ("", None),
    ],
)
def test_a_line_with_a_name_after_the_slash_calls_a_command(line: str, expected: tuple[str, str] | None) -> None:
    assert split_slash_command(line) == expected
