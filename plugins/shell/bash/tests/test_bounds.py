"""What a command costs before anything is decided: its length comes first, and reading grows with it and no faster."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pegboard_bash import lexer, subset
from pegboard_bash.refusals import why_interactive
from pegboard_bash.second_reading import second_reading
from pegboard_bash.syntax import Parser
from pegboard_bash.tree import LONGEST, syntax_tree
from pegboard_bash.understanding import understand

SHAPES = [
    *(
        "[",
        "{",
        "}",
        "'",
        '"',
        "$(",
        "`",
        "\\",
        "\\`",
        "((",
        "(",
        "$((",
        "${",
        "${x:-",
        "{a,b}",
        "{a,",
        "{1..9}",
        "*",
        "?*",
    ),
    *(
        "* ",
        "a;",
        "a|",
        "a&&",
        "a ",
        "if ",
        "<(",
        "[[ ",
        "[[ a && ",
        "\n",
        "# ",
        "\\\n",
        "a\\\n",
        "$'",
        '$"',
        "~",
        "=~",
    ),
    *(
        "x=1 ",
        "case a in ",
        "f(){ ",
        "cat <<E\nE\n",
        "<<E\n",
        "<<E ",
        "! ",
        "é",
        "> a ",
        ">",
        "2>&1 ",
        "[a]",
        "[[:a:",
        "-",
    ),
    *("bash -c '", "eval ", "sudo ", "env ", "time ", '"$(', "for f in a; do ", "for f in {1..9}; do ", "a,b c=d "),
]


@pytest.mark.parametrize("command", ["cat " + "[" * 136_000, "ls;" * 100_000, "\0" * 20_000, "$(" * 90_000])
def test_a_command_that_is_too_long_to_run_is_not_read(command, tmp_path):
    before = second_reading.cache_info().misses
    facts = understand(command, tmp_path).facts
    assert facts.reason == "It is longer than 10,000 characters."
    assert syntax_tree(command) is None
    assert second_reading.cache_info().misses == before


def steps(shape, length, monkeypatch):
    """How often the lexer looks at the text while it reads a shape again and again."""
    looks = 0

    class Counted:
        def __init__(self, pattern):
            self.pattern = pattern

        def match(self, *given):
            nonlocal looks
            looks += 1
            return self.pattern.match(*given)

    with monkeypatch.context() as patched:
        for module, names in (
            (lexer, ("PLAIN", "ORDINARY", "IN_QUOTES", "VARIABLE", "BACKTICKS")),
            (subset, ("TOKEN",)),
        ):
            for name in names:
                patched.setattr(module, name, Counted(getattr(module, name)))
        second_reading.__wrapped__((shape * length)[:length])
    return looks


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_takes_steps_in_proportion_to_the_length(shape, monkeypatch):
    short, long = steps(shape, 1_000, monkeypatch), steps(shape, 8_000, monkeypatch)
    assert long <= 20 * short + 100  # Work that grows with the square would be 64 times as much.


def test_no_shape_keeps_the_host_busy(tmp_path):
    """All shapes together in a process that may take a minute: one of them alone once took that long."""
    code = (
        "import sys, resource; resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        "from pegboard_bash.understanding import understand\n"
        "from pegboard_bash.refusals import why_interactive\n"
        f"for shape in {SHAPES!r}:\n"
        f"    for text in ((shape * {LONGEST})[:{LONGEST}], ('cat ' + shape * {LONGEST})[:{LONGEST}]):\n"
        "        assert understand(text, sys.argv[1]).facts.parts\n"
        "        why_interactive(text)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 0


def test_a_rule_that_denies_sees_what_is_too_much_to_read(tmp_path):
    for text in (
        "ls;" * 2_000 + "git push origin",
        "ls " + "[a]" * 1_000 + "; git push origin",
        "$(" * 1_500 + "; git push origin",
    ):
        parts = understand(text, tmp_path).facts.parts
        readings = [each for part in parts for each in (part.text, *part.also)]
        assert any(each.startswith("git push origin") for each in readings)
        assert why_interactive(text) is None


def test_a_command_nested_too_deeply_is_doubt():
    parser = Parser("echo " + "$(" * 60 + "ls" + ")" * 60)
    with pytest.raises(lexer.Doubt, match="nested too deeply"):
        parser.script()
