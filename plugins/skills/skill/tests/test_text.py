"""The text of a skill: arguments, and what counts as a command or a file in it."""

from __future__ import annotations

import pytest

from pegboard_skill.arguments import Arguments, first_number
from pegboard_skill.pieces import files_in, pieces_of
from pegboard_skill.skill_file import Head, Skill
from pegboard_skill.skill_list import lines_for


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("$0 then $1", "one 'two three'", "one then two three"),
        ("$ARGUMENTS[1]-$ARGUMENTS[0]", "a b", "b-a"),
        ("$0 $5", "a", "a $5"),
        ("$issue by $who", "12", "12 by "),
        ("$unknown $HOME ${PATH}", "x", "$unknown $HOME ${PATH}"),
        (r"\$1 \$ARGUMENTS \$issue", "a b", "$1 $ARGUMENTS $issue"),
        ("${CLAUDE_SKILL_DIR}/x", "", "/skills/a/x"),
        ("$ARGUMENTS", "$0 ${CLAUDE_SKILL_DIR}", "$0 ${CLAUDE_SKILL_DIR}"),
        ("$0", "it's", "it's"),
        ("costs $10.50", "a", "costs $10.50"),
        ("$ARGUMENTSX", "a", "$ARGUMENTSX"),
    ],
)
def test_arguments_take_their_places(text, given, expected):
    arguments = Arguments(given, ("issue", "who"), {"CLAUDE_SKILL_DIR": "/skills/a"})
    assert arguments.put_into(text) == expected


@pytest.mark.parametrize(
    ("text", "is_command", "first"),
    [("$1 and $2", True, 1), ("$0 and $1", True, 0), ("$ARGUMENTS[0] $1", True, 0), ("$1", False, 0), ("", True, 1)],
)
def test_commands_may_count_from_one_as_they_used_to(text, is_command, first):
    assert first_number(text, is_command=is_command) == first


@pytest.mark.parametrize(
    ("body", "commands"),
    [
        ("!`git status`", ["git status"]),
        ("Now: !`a` and !`b`\n", ["a", "b"]),
        ("wow!`a`", []),
        ("```bash\n!`a`\n```\n", []),
        ("```!\nls\npwd\n```\nend", ["ls\npwd\n"]),
        ("```!\nls\n", []),
        ("~~~\n```!\nls\n```\n~~~\n", []),
        ("!``", []),
    ],
)
def test_commands_are_found_outside_of_code(body, commands):
    assert [piece.text for piece in pieces_of(body) if piece.is_command] == commands


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("See @a.txt, and (@b/c.md).", ["a.txt", "b/c.md"]),
        ("mail a@b.org or `@code`", []),
        (r"@my\ file.txt", ["my file.txt"]),
        ("@~/x @/etc/passwd", ["~/x", "/etc/passwd"]),
    ],
)
def test_files_are_found_where_a_word_begins(text, files):
    assert files_in(text) == files


def _skills(*descriptions):
    return [Skill(f"s{at:03}", Head(f"s{at:03}", words), "/x", "user") for at, words in enumerate(descriptions)]


@pytest.mark.parametrize("count", [1, 20, 500, 2000])
def test_the_list_of_skills_stays_within_its_budget(count):
    lines = lines_for(_skills(*("w" * (at % 900 + 1) for at in range(count))), 12_000)
    assert len("\n".join(lines)) <= 12_000


def test_the_longest_descriptions_are_cut_first():
    first, second = lines_for(_skills("short", "x" * 500), 200)
    assert first == "- s000: short"
    assert second.startswith("- s001: xxx")
    assert second.endswith("…")


def test_where_names_alone_are_too_many_their_number_is_told():
    [line] = lines_for(_skills(*["w"] * 1000), 300)
    assert line.startswith("s000, s001, ")
    assert "more; to list them, call the tool Skill with an unknown name" in line
