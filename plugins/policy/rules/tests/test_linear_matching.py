"""Patterns from a repository that nobody trusts take time in proportion to their length, whatever they are."""

from __future__ import annotations

import re
import time
from fnmatch import translate
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard.settings import Layer, Settings
from pegboard_rules.grammar import Rule
from pegboard_rules.path_index import PathIndex
from pegboard_rules.patterns import TextPattern, host_test, name_test, value_matches
from pegboard_rules.ruleset import RuleSet
from pegboard_rules.volumes import Volume

SECONDS = 2.0
"""The slowest of these took over a minute with a regular expression; all of them together take milliseconds now."""

STARS = "*a" * 40 + "*b"


@pytest.fixture(autouse=True)
def in_time():
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


def test_a_command_pattern_with_many_stars_ends():
    assert not TextPattern(STARS).matches("a" * 20_000)
    assert not TextPattern(f"x{STARS} *").matches("x" + "a" * 20_000)
    assert TextPattern(STARS).matches("a" * 20_000 + "b")


def test_a_parameter_pattern_with_many_stars_ends():
    assert not value_matches(STARS, "a" * 20_000)


@pytest.mark.parametrize("pattern", [STARS, "*[ab]" * 40 + "*c", "*?" * 40 + "b", "*\\a" * 40 + "*b"])
def test_a_pattern_for_a_name_with_many_stars_ends(pattern):
    assert not name_test(pattern)("a" * 250 + "z")


@pytest.mark.parametrize("pattern", [f"{STARS}.example", f"*.{STARS}.example", "*." * 60 + "b"])
def test_a_host_pattern_with_many_stars_ends(pattern):
    test = host_test(pattern)
    assert not test("a" * 250 + ".example")
    assert not test(".".join(["a"] * 120))


@pytest.mark.parametrize("pattern", ["**/a/" * 30 + "b", "**/*/" * 30 + "b", "**/a*/" * 30 + "b", "a/**/" * 30 + "b"])
def test_a_path_pattern_with_many_double_stars_ends(pattern):
    index, rule = PathIndex(Volume()), Rule("deny", f"Read({pattern})", source="", layer="user", anchor="/")
    index.add(rule, pattern.split("/"), guards=True)
    found: list[Rule] = []
    index.find(["a"] * 200, found)
    assert found == []
    index.find([*["a"] * 200, "b"], found)
    assert rule in found


def test_a_repository_full_of_such_rules_does_not_hold_up_a_decision(tmp_path: Path):
    import sys

    sys.path.insert(0, str(Path(__file__).parent))
    from permission_cases import World

    world = World(tmp_path)
    rules = ["Bash(*a*a*a*a*a*a*a*a*a*b)", f"Bash({STARS})", f"Read({'**/*a/' * 20}b)", f"WebFetch(domain:{STARS}.x)"]
    settings = world.settings(trusted=False, project={"deny": rules})
    deep = world.project / "/".join(["a"] * 100)
    decision = world.command("a" * 5_000, settings=settings, reads=(deep,), hosts=(f"{'a' * 60}.x",))
    assert decision.word == "ask"


@given(st.text("ab*", max_size=8), st.text("ab", max_size=10))
def test_stars_mean_what_they_meant_as_regular_expressions(pattern, text):
    wanted = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL)
    assert value_matches(pattern, text) == bool(wanted)


@given(st.text("ab *", min_size=1, max_size=8), st.text("ab \t", max_size=10))
def test_a_word_boundary_means_what_it_meant_as_a_regular_expression(body, text):
    wanted = re.fullmatch(".*".join(map(re.escape, body.split("*"))) + r"(?:[ \t].*)?", text, re.DOTALL)
    assert TextPattern(f"{body}:*").matches(text) == bool(wanted)


@given(st.text("ab*?[!]-", min_size=1, max_size=8), st.text("ab-!]", min_size=1, max_size=8))
def test_a_name_pattern_means_what_fnmatch_means(pattern, name):
    if re.search(r"\[!?\]|--|\[[^\]]*-[^\]]*\]", pattern):
        return  # Empty classes and odd ranges differ between the two on purpose.
    assert bool(name_test(pattern)(name)) == bool(re.match(translate(pattern), name))


@given(st.text("ab.*", min_size=1, max_size=8), st.text("ab.", min_size=1, max_size=10))
@example("a*..", "a")
@example("a*.", "a")
def test_a_host_pattern_means_what_it_meant_as_a_regular_expression(pattern, host):
    rest = pattern.removesuffix(".")
    if "*" not in rest or rest == "*" or (rest.startswith("*.") and "*" not in rest[2:]):
        return
    body = "[^.]*".join(re.escape(piece) for piece in rest.removeprefix("*.").split("*"))
    wanted = re.fullmatch((r"(?:[^.]+\.)+" if rest.startswith("*.") else "") + body, host)
    assert bool(host_test(pattern)(host)) == bool(wanted)


def test_settings_with_such_rules_are_compiled_in_time():
    layer = Layer("project", "/x", {"permissions.deny": [f"Bash({STARS}{number})" for number in range(500)]})
    assert len(RuleSet(Settings([layer], cwd="/srv"), Volume()).rules) == 500
