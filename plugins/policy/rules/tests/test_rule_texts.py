"""Colons, signs between commands, and the files whose change asks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pegboard import Facts
from pegboard_rules.grammar import Rule
from pegboard_rules.lint import problems
from pegboard_rules.operators import operators, pipes_of
from pegboard_rules.ruleset import RuleSet
from pegboard_rules.subjects import Subject

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import INFOS, FileInput, World, Write, judge


def rule(text, kind="allow"):
    return Rule(kind, text, source="s", layer="user", anchor="/")


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ("Skill(sentry-skills:commit)", None),
        ("Agent(my-plugin:reviewer)", None),
        ("Bash(D:\\StataSE-64.exe *)", None),
        ("Bash(c:/tools/x.exe *)", None),
        ("Agent(model:opus)", ("model", "opus")),
        ("Grep(-i:true)", ("-i", "true")),
        ("Bash(run_in_background:true)", ("run_in_background", "true")),
    ],
)
def test_which_colon_names_a_parameter(text, param):
    assert rule(text).param == param


@pytest.mark.parametrize("kind", ["allow", "deny"])
def test_a_colon_in_a_namespaced_name_is_no_parameter(kind):
    found = rule("Skill(tools:commit)", kind)
    assert not found.is_about_parameter(Subject("namespaced", "skill"))
    assert found.fault_for(Subject("namespaced", "skill")) == ""
    assert rule("Agent(model:opus)", "deny").is_about_parameter(Subject("name", "subagent_type"))


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("a && b", ["&&"]),
        ("a|b", ["|"]),
        ("a |& b", ["|&"]),
        ("grep 'a|b' x", []),
        ('awk "a;b"', []),
        ("a\\|b", []),
        ("a 2>&1", []),
        ("a &> f", []),
        ("a & b", ["&"]),
        ("'it''s' | x", ["|"]),
    ],
)
def test_signs_outside_of_quotes(text, signs):
    assert [sign for _, sign in operators(text)] == signs


def test_the_commands_of_a_pipeline():
    assert pipes_of("curl * |sh") == ["curl *", "sh"]
    assert pipes_of("a | b && c") == ["a | b && c"]
    assert not rule("Bash(| sh)", "deny").pipeline


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("deny", "Bash(cd * && rm *)", "'&&' joins two. Write a rule for each of them."),
        ("allow", "Bash(cat * | jq *)", "each command of a pipeline needs an allow rule of its own."),
        ("deny", "Bash(curl * | sh)", ""),
        ("allow", "Bash(grep 'a|b' *)", ""),
        ("allow", "Bash(npm test 2>&1 *)", ""),
    ],
)
def test_a_rule_that_never_matches_is_reported(tmp_path, kind, text, said):
    settings = World(tmp_path).settings(user={kind: [text]})
    found = [notice.message for notice in problems(RuleSet(settings), INFOS)]
    assert [message for message in found if "never matches" in message] == found
    assert (said in found[0]) if said else not found


NAMES = ["package.json", "Makefile", "sub/MAKEFILE", "conftest.py", ".github/workflows/ci.yml", "GNUmakefile"]


def asks(world, name, **layers):
    settings = world.settings(**layers)
    ctx = world.context(settings, mode="acceptEdits")
    args = FileInput(file_path=Path(name))
    facts = Facts(open_world=False, writes=(world.project / name,))
    return judge(Write, facts, ctx, [], args).layer == "protected-path"


@pytest.mark.parametrize("name", NAMES)
def test_files_that_decide_the_build_ask_unless_the_user_lists_others(tmp_path, name):
    world = World(tmp_path)
    assert asks(world, name)
    assert asks(world, name, user={"askBeforeChange": [Path(name).name.upper()]})
    assert not asks(world, name, user={"askBeforeChange": ["tox.ini"]})
    assert asks(world, "tox.ini")


def test_a_project_has_no_say_and_is_told_so(tmp_path):
    world = World(tmp_path)
    for layer in ("project", "local"):
        assert asks(world, "package.json", **{layer: {"askBeforeChange": []}})
    settings = world.settings()
    assert "only user and managed settings may set it" in str(problems(RuleSet(settings), INFOS)[0])


def test_managed_settings_win_over_the_user(tmp_path):
    layers = {"user": {"askBeforeChange": []}, "managed": {"askBeforeChange": ["package.json"]}}
    assert asks(World(tmp_path), "package.json", **layers)


@pytest.mark.parametrize("name", [".git/config", ".claude/settings.json", ".bashrc", ".npmrc", "x.pth"])
def test_the_setting_does_not_open_what_is_always_protected(tmp_path, name):
    assert asks(World(tmp_path), name, user={"askBeforeChange": []})
