"""The grammar of rules: what each shape covers, what is refused, and where a rule stands."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pegboard import Allow, Ask, Context, Deny, Facts, Part
from pegboard.errors import SettingsError
from pegboard.settings import Settings
from pegboard_rules.grammar import Rule
from pegboard_rules.lint import covers, problems
from pegboard_rules.ruleset import RuleSet
from pegboard_settings import bare_name, name_matches, split_rule
from pegboard_settings.parsing import find_lines, lines_of

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import INFOS, TOOLS, AgentInput, Bash, CommandInput, World, judge


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return World(tmp_path)


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        ("Bash", ("Bash", None)),
        ("Bash(*)", ("Bash", None)),
        (" Read(./.env) ", ("Read", "./.env")),
        ("Bash(echo (a))", ("Bash", "echo (a)")),
        ("mcp__github__get_*", ("mcp__github__get_*", None)),
        ("Bash(", None),
        ("Bash(ls", None),
        ("(ls)", None),
        ("B ash(ls)", None),
        ("", None),
    ],
)
def test_a_rule_is_a_name_and_what_stands_in_parentheses(rule: str, parts: Any) -> None:
    assert split_rule(rule) == parts


def test_bare_names_and_name_patterns_still_serve_the_pool() -> None:
    assert bare_name("Read(*)") == "Read"
    assert bare_name("Read(./x)") is None
    assert name_matches("mcp__github", "mcp__github__get_issue")
    assert not name_matches("mcp__git", "mcp__github__get_issue")
    assert name_matches("*", "Read")


COMMANDS = [
    ("ls", "ls", True),
    ("ls", "ls -la", False),
    ("ls *", "ls", True),
    ("ls *", "ls -la", True),
    ("ls *", "lsof", False),
    ("ls*", "lsof", True),
    ("npm run test:*", "npm run test", True),
    ("npm run test:*", "npm run test --watch", True),
    ("npm run test:*", "npm run tests", False),
    ("git * main", "git push origin main", True),
    ("git * main", "git push origin maine", False),
    ("* --version", "node --version", True),
    ("* --version", "node --version --eval x", False),
    ("git log:--all", "git log:--all", True),
    ("git commit *", "git commit\t-m x", True),
    ("echo \\*", "echo *", True),
    ("echo \\*", "echo x", False),
    ("a * b *", "a x b", True),
    ("a * b *", "a x b c", True),
    ("a * b *", "a x bc", False),
    ("git *", "git", True),
    ("printf *x", "printf a\nx", True),
]


@pytest.mark.parametrize("kind", ["deny", "allow"])
@pytest.mark.parametrize(("pattern", "command", "expected"), COMMANDS)
def test_a_command_pattern(world: World, kind: str, pattern: str, command: str, expected: bool) -> None:
    settings = world.settings(project={kind: [f"Bash({pattern})"]})
    decision = world.command(command, settings=settings)
    assert (decision.rule == f"Bash({pattern})") == expected, decision


HOSTS = [
    ("bücher.example", "https://xn--bcher-kva.example/", True),
    ("xn--bcher-kva.example", "https://BÜCHER.example/", True),
    ("*.bücher.example", "https://a.xn--bcher-kva.example/", True),
    ("straße.example", "https://xn--strae-oqa.example/", True),
    ("*.βόλος.example", "https://a.xn--nxasmm1c.example/", True),
    ("straße.example", "https://strasse.example/", False),
    ("example.com", "https://example.com/a", True),
    ("example.com", "https://EXAMPLE.com./a", True),
    ("example.com", "https://www.example.com/", False),
    ("example.com", "https://example.com.evil.org/", False),
    ("example.com", "https://example.com@evil.org/", False),
    ("example.com", "https://evil.org/example.com", False),
    ("*.example.com", "https://a.b.example.com/", True),
    ("*.example.com", "https://example.com/", False),
    ("*.example.com", "https://badexample.com/", False),
    ("*", "https://anything.test/", True),
    ("example.*", "https://example.org/", True),
    ("example.*", "https://example.evil.com/", False),
    ("*.example.*", "https://a.example.org/", True),
    ("example.com.", "https://example.com/", True),
    ("Example.COM", "http://user:pw@example.com:8080/", True),
]


@pytest.mark.parametrize("kind", ["deny", "allow"])
@pytest.mark.parametrize(("pattern", "url", "expected"), HOSTS)
def test_a_host_pattern(world: World, kind: str, pattern: str, url: str, expected: bool) -> None:
    rule = f"WebFetch(domain:{pattern})"
    decision = world.judge("WebFetch", {"url": url}, world.settings(project={kind: [rule]}))
    assert (decision.rule == rule) == expected, decision


def test_a_denied_host_is_denied_to_every_tool_that_names_its_hosts(world: World) -> None:
    settings = world.settings(project={"deny": ["WebFetch(domain:evil.test)"]})
    decision = world.command("curl evil.test", settings=settings, hosts=("EVIL.test.",))
    assert isinstance(decision, Deny)


def test_an_allowed_host_allows_no_other_tool(world: World) -> None:
    settings = world.settings(project={"allow": ["WebFetch(domain:good.test)"]})
    assert isinstance(world.command("curl good.test", settings=settings, hosts=("good.test",)), Ask)


NAMES = [
    ("deny", "*", True),
    ("ask", "B*", True),
    ("deny", "*h", True),
    ("deny", "R*", False),
    ("allow", "*", False),
    ("allow", "B*", False),
    ("allow", "Bash", True),
]


@pytest.mark.parametrize(("kind", "pattern", "expected"), NAMES)
def test_a_name_pattern_denies_and_asks_anywhere_but_allows_nowhere(
    world: World, kind: str, pattern: str, expected: bool
) -> None:
    decision = world.command("make", settings=world.settings(project={kind: [pattern]}))
    assert (decision.rule == pattern) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mcp__github", True),
        ("mcp__github__*", True),
        ("mcp__github__get_*", True),
        ("mcp__github__get_issue", True),
        ("mcp__github__set_*", False),
        ("mcp__*", False),
        ("mcp__git*", False),
        ("mcp____*", False),
        ("mcp__gitlab", False),
    ],
)
def test_an_allow_rule_for_a_server_needs_its_whole_name(world: World, rule: str, expected: bool) -> None:
    import copy

    remote = copy.copy(Bash)
    remote.name = "mcp__github__get_issue"
    ctx = world.context(world.settings(project={"allow": [rule]}))
    assert isinstance(judge(remote, Facts(), ctx, []), Allow) == expected


PARAMETERS = [
    ("Agent(model:opus)", {"model": "opus"}, True),
    ("Agent(model : opus)", {"model": "opus"}, True),
    ("Agent(model:op*)", {"model": "opus"}, True),
    ("Agent(model:opus)", {"model": "haiku"}, False),
    ("Agent(model:*)", {}, False),
    ("Agent(reviewer)", {"subagent_type": "reviewer"}, True),
    ("Task(reviewer)", {"subagent_type": "reviewer"}, True),
    ("Agent(review*)", {"subagent_type": "reviewer"}, True),
    ("Agent(reviewer)", {"subagent_type": "writer"}, False),
    ("Agent(reviewer)", {}, False),
]


@pytest.mark.parametrize("kind", ["deny", "ask"])
@pytest.mark.parametrize(("rule", "given", "expected"), PARAMETERS)
def test_a_parameter_rule(world: World, kind: str, rule: str, given: dict[str, Any], expected: bool) -> None:
    decision = world.judge("Agent", given, world.settings(project={kind: [rule]}))
    assert (decision.rule == rule) == expected
    assert isinstance(decision, Deny if expected and kind == "deny" else Ask)


def test_a_boolean_parameter_is_compared_as_json(world: World) -> None:
    settings = world.settings(project={"deny": ["Bash(run_in_background:true)"]})
    assert isinstance(world.judge("Bash", {"command": "x", "run_in_background": True}, settings), Deny)
    assert isinstance(world.judge("Bash", {"command": "x"}, settings), Ask)


def test_a_parameter_cannot_be_allowed(world: World) -> None:
    settings = world.settings(project={"allow": ["Agent(model:haiku)"]})
    assert isinstance(world.judge("Agent", {"model": "haiku"}, settings), Ask)


def test_an_agent_type_can_be_allowed(world: World) -> None:
    settings = world.settings(project={"allow": ["Agent(reviewer)"]})
    assert isinstance(world.judge("Agent", {"subagent_type": "reviewer"}, settings), Allow)


def test_without_the_input_a_rule_on_a_parameter_asks(world: World) -> None:
    ctx = world.context(world.settings(project={"deny": ["Agent(model:opus)"], "allow": ["Agent"]}))
    decision = judge(TOOLS["Agent"], Facts(), ctx, [])
    assert isinstance(decision, Ask)
    assert "may cover it" in decision.reason
    assert isinstance(judge(TOOLS["Agent"], Facts(), ctx, [], AgentInput(model="haiku")), Allow)


# Commands of several parts.


def test_every_part_needs_an_allow_rule_unless_it_only_reads(world: World) -> None:
    settings = world.settings(project={"allow": ["Bash(npm test)"]})
    reading = Part("ls", read_only=True)
    assert isinstance(world.command(reading, "npm test", settings=settings), Allow)
    assert isinstance(world.command("ls", "npm test", settings=settings), Ask)
    assert isinstance(world.command("npm test", "curl x", settings=settings), Ask)


def test_one_part_or_another_reading_of_it_is_enough_to_deny(world: World) -> None:
    settings = world.settings(project={"deny": ["Bash(rm *)"], "allow": ["Bash"]})
    assert isinstance(world.command("ls", "rm x", settings=settings), Deny)
    assert isinstance(world.command(Part("sudo rm x", also=("rm x",)), settings=settings), Deny)


def test_an_allow_rule_never_sees_other_readings(world: World) -> None:
    settings = world.settings(project={"allow": ["Bash(rm *)"]})
    assert isinstance(world.command(Part("sudo rm x", also=("rm x",)), settings=settings), Ask)


def test_a_part_that_must_be_spelled_out_is_not_allowed_by_a_wildcard(world: World) -> None:
    part = Part("find . -delete", exact=True)
    wide = world.settings(project={"allow": ["Bash(find *)"]})
    assert isinstance(world.command(part, settings=wide), Ask)
    spelled = world.settings(project={"allow": ["Bash(find . -delete)"]})
    assert isinstance(world.command(part, settings=spelled), Allow)


@pytest.mark.parametrize(
    "command", ["npm test && curl x", "npm test; x", "npm test $(x)", "npm test `x`", "npm test > f", "npm test\nx"]
)
def test_a_command_that_nobody_took_apart_is_not_allowed_when_compound(world: World, command: str) -> None:
    settings = world.settings(project={"allow": ["Bash(npm test:*)"]})
    assert isinstance(world.judge("Bash", {"command": command}, settings), Ask)
    assert isinstance(world.judge("Bash", {"command": "npm test --watch"}, settings), Allow)


def test_a_command_that_nobody_took_apart_is_denied_where_a_piece_shows_and_asked_about_in_doubt(world: World) -> None:
    settings = world.settings(project={"deny": ["Bash(rm *)"], "allow": ["Bash"]})
    assert isinstance(world.judge("Bash", {"command": "ls && rm -rf x"}, settings), Deny)
    assert isinstance(world.judge("Bash", {"command": "eval 'r''m x'"}, settings), Ask)
    assert isinstance(world.judge("Bash", {"command": "ls"}, settings), Allow)


def test_a_command_rule_does_not_cover_a_redirect_into_a_file(world: World) -> None:
    target = world.project / "out.txt"
    settings = world.settings(project={"allow": ["Bash(echo *)"]})
    assert isinstance(world.command("echo hello", settings=settings, writes=(target,)), Ask)
    settings = world.settings(project={"allow": ["Bash(echo *)", "Edit(out.txt)"]})
    assert isinstance(world.command("echo hello", settings=settings, writes=(target,)), Allow)


def test_a_command_rule_covers_the_files_its_command_names_inside_the_working_directory(world: World) -> None:
    settings = world.settings(project={"allow": ["Bash(touch *)"]})
    assert isinstance(world.command("touch a.txt", settings=settings, writes=(world.project / "a.txt",)), Allow)
    assert isinstance(world.command("touch ../a.txt", settings=settings, writes=(world.base / "a.txt",)), Ask)


def test_a_read_only_part_does_not_read_outside_on_the_ticket_of_another(world: World) -> None:
    settings = world.settings(project={"allow": ["Bash(npm test)"]})
    reading = Part("cat /etc/hosts", read_only=True)
    assert isinstance(world.command(reading, "npm test", settings=settings, reads=(Path("/etc/hosts"),)), Ask)


# Capabilities.


def test_read_and_edit_rules_reach_every_tool_by_what_it_touches(world: World) -> None:
    settings = world.settings(project={"deny": ["Read(secret.txt)", "Edit(frozen.txt)"], "allow": ["Bash"]})
    secret, frozen = world.project / "secret.txt", world.project / "frozen.txt"
    assert isinstance(world.command("cat secret.txt", settings=settings, reads=(secret,)), Deny)
    assert isinstance(world.command("tee secret.txt", settings=settings, writes=(secret,)), Deny)
    assert isinstance(world.command("cat frozen.txt", settings=settings, reads=(frozen,)), Allow)
    assert isinstance(world.command("tee frozen.txt", settings=settings, writes=(frozen,)), Deny)
    assert isinstance(world.command("rm frozen.txt", settings=settings, deletes=(frozen,)), Deny)


def test_an_ask_rule_for_reading_does_not_reach_writing(world: World) -> None:
    settings = world.settings(project={"ask": ["Read(notes.txt)"], "allow": ["Bash"]})
    notes = world.project / "notes.txt"
    assert isinstance(world.command("tee notes.txt", settings=settings, writes=(notes,)), Allow)
    assert isinstance(world.command("cat notes.txt", settings=settings, reads=(notes,)), Ask)


def test_a_deny_rule_on_a_folder_covers_the_folder_itself(world: World) -> None:
    settings = world.settings(project={"deny": ["Read(./secrets/**)"]})
    assert isinstance(world.judge("Read", {"file_path": "secrets"}, settings), Deny)


def test_a_star_in_an_allow_rule_stays_at_its_depth(world: World) -> None:
    settings = world.settings(project={"allow": ["Edit(./src/*)"], "deny": ["Edit(./lib/*)"]})
    assert isinstance(world.judge("Edit", {"file_path": "src/a"}, settings), Allow)
    assert isinstance(world.judge("Edit", {"file_path": "src/a/b"}, settings), Ask)
    assert isinstance(world.judge("Edit", {"file_path": "lib/a/b"}, settings), Deny)


def test_a_deny_rule_keeps_its_hold_after_a_change_of_directory(world: World) -> None:
    settings = world.settings(project={"deny": ["Read(./secrets/**)"]})
    (world.project / "sub").mkdir()
    decision = world.judge("Read", {"file_path": "../secrets/k"}, settings, cwd=world.project / "sub")
    assert isinstance(decision, Deny)


def test_a_working_directory_behind_a_link_keeps_its_rules(world: World) -> None:
    (world.base / "door").symlink_to(world.project)
    settings = world.settings(
        project={"allow": ["Edit(./src/**)"], "deny": ["Edit(./lib/**)"]}, cwd=world.base / "door"
    )
    assert isinstance(world.judge("Edit", {"file_path": "src/a"}, settings), Allow)
    assert isinstance(world.judge("Edit", {"file_path": "lib/a"}, settings), Deny)


def test_a_rule_named_after_another_tool_speaks_of_the_paths_of_that_tool(world: World) -> None:
    import copy

    counting = copy.copy(TOOLS["Read"])
    counting.name = "WordCount"
    settings = world.settings(project={"deny": ["WordCount(private/**)"]})
    ctx = world.context(settings)
    path = world.project / "private" / "x"
    assert isinstance(judge(counting, Facts(True, True, False, reads=(path,)), ctx, []), Deny)
    assert isinstance(judge(TOOLS["Read"], Facts(True, True, False, reads=(path,)), ctx, []), Allow)


# Order, sources, lines.


def test_deny_beats_ask_beats_allow_whatever_the_order_of_layers_and_rules(world: World) -> None:
    kinds = {"deny": "Bash(git *)", "ask": "Bash(git push *)", "allow": "Bash(git push origin)"}
    for order in itertools.permutations(kinds):
        layers = dict(zip(("project", "local", "user"), ({kind: [kinds[kind]]} for kind in order), strict=True))
        assert isinstance(world.command("git push origin", settings=world.settings(**layers)), Deny), order
    for order in itertools.permutations(("ask", "allow")):
        layers = dict(zip(("project", "user"), ({kind: [kinds[kind]]} for kind in order), strict=True))
        assert isinstance(world.command("git push origin", settings=world.settings(local={}, **layers)), Ask), order


def test_a_decision_names_rule_file_line_and_what_matched(world: World) -> None:
    settings = world.settings(project={"deny": ["Read(.env)", "Bash(git push:*)"]})
    decision = world.command("ls", "git push origin", settings=settings)
    words = "Bash was denied by the rule Bash(git push:*) in .pegboard/settings.json, which covers 'git push origin'."
    assert decision.reason == words
    assert (decision.layer, decision.rule) == ("rules", "Bash(git push:*)")
    assert decision.source == str(world.project / ".pegboard" / "settings.json")
    assert decision.line == 5
    assert decision.matched == "git push origin"


def test_a_rule_of_the_user_is_shown_from_the_home_directory(world: World) -> None:
    decision = world.command("x", settings=world.settings(user={"ask": ["Bash"]}))
    assert decision.reason == "Bash needs approval because of the rule Bash in ~/.pegboard/settings.json."


def test_lines_are_found_in_every_layout_of_json() -> None:
    text = (
        '{"a": {"deny": [1]},\n "permissions":\n {"ask": ["x,]"], "deny"\n: [ "a(\\"]\\")",\n\n {"rule":"b"\n},"c" ]}}'
    )
    assert find_lines(text, "permissions.deny") == [4, 6, 7]
    assert find_lines(text, "permissions.ask") == [3]
    assert find_lines(text, "permissions.allow") == []
    assert find_lines('{"permissions.deny": [\n"a"]}', "permissions.deny") == [2]


def test_a_file_that_is_gone_or_broken_has_no_lines(tmp_path: Path) -> None:
    assert lines_of(str(tmp_path / "none.json"), "permissions.deny") == []
    (tmp_path / "broken.json").write_text('{"permissions": {"deny": ["a"')
    assert lines_of(str(tmp_path / "broken.json"), "permissions.deny") == []


def test_rules_are_compiled_once_for_each_settings_object(world: World) -> None:
    settings = world.settings(project={"deny": ["Bash(rm *)"]})
    world.command("ls", settings=settings)
    first = RuleSet.of(settings)
    world.command("rm x", settings=settings)
    assert RuleSet.of(settings) is first


def test_an_untrusted_repository_denies_but_allows_nothing(world: World) -> None:
    rules = {"deny": ["Bash(rm *)"], "allow": ["Bash(ls *)"], "additionalDirectories": ["/etc"]}
    settings = world.settings(trusted=False, project=rules)
    assert isinstance(world.command("rm x", settings=settings), Deny)
    assert isinstance(world.command("ls x", settings=settings), Ask)
    assert isinstance(world.judge("Read", {"file_path": "/etc/hosts"}, settings), Ask)


# What is wrong with rules.

FAULTS = [
    ("allow", "Bash(ls", "This is not a rule."),
    ("allow", "B*", "only after a complete server name"),
    ("allow", "mcp__*", "only after a complete server name"),
    ("deny", "Bsh(ls)", "There is no tool 'Bsh'. Did you mean 'Bash'?"),
    ("allow", "Write(./docs/**)", "Path rules that allow Write are never used. Write Edit(./docs/**)."),
    ("deny", "NotebookEdit(x)", "It applies to NotebookEdit only. Write Edit(x) for every tool"),
    ("ask", "Glob(src/**)", "Write Read(src/**) for every tool and what it finds."),
    ("deny", "MultiRead(x)", "There is no tool 'MultiRead'."),
    ("deny", "Bash(command:rm)", "Rules for Bash already match command."),
    ("deny", "WebFetch(url:x)", "Rules for WebFetch already match url."),
    ("deny", "WebFetch(https://x)", "Write WebFetch(domain:example.com)."),
    ("allow", "Agent(model:opus)", "can only deny or ask, not allow"),
    ("allow", "Bash(run_in_background:true)", "can only deny or ask, not allow"),
    ("deny", "Read()", "The parentheses are empty."),
    ("deny", "Read(!x)", "exclamation mark"),
    ("deny", "mcp__a__b(x)", "parameter"),
]


@pytest.mark.parametrize(("kind", "rule", "words"), FAULTS)
def test_a_rule_that_does_nothing_is_reported_with_file_and_line(
    world: World, kind: str, rule: str, words: str
) -> None:
    rules = RuleSet(world.settings(project={kind: [rule]}))
    (notice,) = problems(rules, INFOS)
    assert words in notice.message
    assert notice.source == f"{world.project / '.pegboard' / 'settings.json'}:4"


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("deny", "mcp__x__y"),
        ("deny", "Fr*"),
        ("deny", "Some_tool"),
        ("deny", "Write(limit:5)"),
        ("allow", "Bash(git:*)"),
        ("allow", "WebFetch(domain:x.org)"),
        ("deny", "Agent(subagent_type:x)"),
        ("allow", "Read(a:b)"),
    ],
)
def test_a_sound_rule_is_not_reported(world: World, kind: str, rule: str) -> None:
    assert problems(RuleSet(world.settings(project={kind: [rule]})), INFOS) == []


def test_a_path_with_one_slash_in_the_users_file_is_reported(world: World) -> None:
    (notice,) = problems(RuleSet(world.settings(user={"deny": ["Read(/etc/shadow)"]})), INFOS)
    assert "Write //etc/shadow" in notice.message


def test_examples_beside_a_rule_are_checked(world: World) -> None:
    rules = [
        {"rule": "Bash(git push *)", "match": ["git push", "git pull"], "not_match": ["git pushd", "git push -f"]},
        {"rule": "Read(./secrets/**)", "match": ["secrets/k", "./a/../secrets/k", "public"], "not_match": ["public"]},
        {"rule": "WebFetch(domain:*.x.org)", "match": ["https://a.x.org/", "a.x.org"], "not_match": ["x.org"]},
    ]
    settings = world.settings(project={"deny": rules})
    said = [notice.message for notice in problems(RuleSet(settings), INFOS)]
    assert said == [
        "deny rule Bash(git push *): It should match 'git pull' but does not.",
        "deny rule Bash(git push *): It should not match 'git push -f' but does.",
        "deny rule Read(./secrets/**): It should match 'public' but does not.",
    ]
    assert isinstance(world.command("git push", settings=settings), Deny)


@pytest.mark.parametrize(
    "items",
    [
        "Bash",
        [1],
        [{"match": []}],
        [{"rule": "Bash", "match": "x"}],
        [{"rule": "Bash", "not_match": [1]}],
        [{"rule": "Bash", "matches": []}],
    ],
)
def test_a_list_of_rules_that_is_none_is_refused(world: World, items: Any) -> None:
    with pytest.raises(SettingsError, match=r"permissions\.deny"):
        world.settings(project={"deny": items})


@pytest.mark.parametrize(
    ("key", "value"),
    [("defaultMode", "yolo"), ("disableBypassPermissionsMode", True), ("disableAutoMode", "on")],
)
def test_a_mode_setting_that_means_nothing_is_refused(world: World, key: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=key):
        world.settings(project={key: value})


def test_the_examples_of_a_single_rule_can_be_asked(world: World) -> None:
    rules = RuleSet(world.settings())
    rule = Rule("allow", "Edit(./src/**)", source="x", layer="project", anchor=str(world.project))
    assert covers(rule, "src/a.py", rules)
    assert not covers(rule, "src/../a.py", rules)


def test_settings_made_by_an_application_work_without_files() -> None:
    ctx = Context(Path("/"), Settings())
    assert isinstance(judge(Bash, Facts(), ctx, [], CommandInput(command="ls")), Ask)


def test_a_thousand_settings_rules_round_trip_through_json(world: World) -> None:
    many = [f"Bash(tool{number} *)" for number in range(1000)]
    settings = world.settings(project={"deny": many})
    assert json.loads((world.project / ".pegboard" / "settings.json").read_text())["permissions"]["deny"] == many
    decision = world.command("tool777 x", settings=settings)
    assert (decision.rule, decision.line) == ("Bash(tool777 *)", 781)
