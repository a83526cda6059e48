"""Modes and working directories: what runs without asking, what asks, what is blocked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pegboard import Allow, Ask, Context, Deny, Facts, Part
from pegboard.permission.decide import may_classify
from pegboard.settings import Settings, load
from pegboard_rules.modes import ALL

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import TOOLS, Bash, CommandInput, World, judge

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return World(tmp_path)


TABLE = {
    # what: default, acceptEdits, plan, auto, dontAsk, bypassPermissions
    "read inside": "allow allow allow allow allow allow",
    "read outside": "ask ask ask ask deny allow",
    "write inside": "ask allow deny ask deny allow",
    "write outside": "ask ask deny ask deny allow",
    "read-only command": "allow allow allow allow allow allow",
    "command": "ask ask ask ask deny allow",
    "mkdir inside": "ask allow deny ask deny allow",
    "mkdir outside": "ask ask deny ask deny allow",
    "edit and another command": "ask ask deny ask deny allow",
    "fetch": "ask ask ask ask deny allow",
    "denied command": "deny deny deny deny deny deny",
    "asked command": "ask ask ask ask deny ask",
    "allowed command": "allow allow ask allow allow allow",
    "allowed write": "allow allow deny allow allow allow",
    "tool that nobody thought about": "ask ask deny ask deny allow",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", TABLE)
def test_the_table_of_modes(world: World, what: str, mode: str) -> None:
    rules = {
        "deny": ["Bash(sudo *)"],
        "ask": ["Bash(git push *)"],
        "allow": ["Bash(npm test)", "Bash(git *)", "Edit(docs/**)"],
    }
    settings = world.settings(user=rules)
    inside, outside = world.project / "made", world.base / "made"
    reading = {"read_only": True}
    made = {
        "read inside": lambda: world.judge("Read", {"file_path": "x"}, settings, mode=mode),
        "read outside": lambda: world.judge("Read", {"file_path": "../x"}, settings, mode=mode),
        "write inside": lambda: world.judge("Write", {"file_path": "x"}, settings, mode=mode),
        "write outside": lambda: world.judge("Write", {"file_path": "../x"}, settings, mode=mode),
        "read-only command": lambda: world.command(Part("ls", read_only=True), settings=settings, mode=mode, **reading),
        "command": lambda: world.command("make", settings=settings, mode=mode),
        "mkdir inside": lambda: world.command("mkdir made", settings=settings, mode=mode, writes=(inside,)),
        "mkdir outside": lambda: world.command("mkdir ../made", settings=settings, mode=mode, writes=(outside,)),
        "edit and another command": lambda: world.command(
            "mkdir made", "make", settings=settings, mode=mode, writes=(inside,)
        ),
        "fetch": lambda: world.judge("WebFetch", {"url": "https://x.test/"}, settings, mode=mode),
        "denied command": lambda: world.command("sudo ls", settings=settings, mode=mode),
        "asked command": lambda: world.command("git push x", settings=settings, mode=mode),
        "allowed command": lambda: world.command("npm test", settings=settings, mode=mode),
        "allowed write": lambda: world.judge("Write", {"file_path": "docs/x"}, settings, mode=mode),
        "tool that nobody thought about": lambda: judge(
            TOOLS["Agent"], Facts(reads=(inside,), writes=(inside,)), world.context(settings, mode=mode), []
        ),
    }[what]()
    assert made.word == TABLE[what].split()[MODES.index(mode)], made


def test_manual_is_another_name_of_the_default_mode(world: World) -> None:
    assert isinstance(world.command("make", settings=world.settings(), mode="manual"), Ask)
    assert ALL.starting(world.settings(), "manual") == ("default", None)


def test_an_unknown_mode_is_the_default_mode(world: World) -> None:
    assert isinstance(world.command("make", settings=world.settings(), mode="yolo"), Ask)


def test_in_bypass_a_plain_ask_of_a_tool_is_waved_through_and_a_forced_one_is_not(world: World) -> None:
    settings = world.settings()
    for layer, expected in (("webfetch", Allow), ("hooks", Ask), ("forced", Ask), ("critical-path", Ask)):
        said = [Ask("A new host.", layer=layer)]
        decision = world.judge("WebFetch", {"url": "https://x.test/"}, settings, said=said, mode="bypassPermissions")
        assert isinstance(decision, expected), layer


@pytest.mark.parametrize("layer", ["user", "project", "local", "managed"])
def test_a_mode_can_be_switched_off_from_every_layer(world: World, layer: str) -> None:
    switched: dict[str, Any] = {"disableBypassPermissionsMode": "disable", "disableAutoMode": "disable"}
    settings = world.settings(trusted=False, **{layer: switched})
    assert isinstance(world.command("make", settings=settings, mode="bypassPermissions"), Ask)
    decision = world.command("make", settings=settings, mode="auto")
    assert not may_classify(decision, ALL.effective("auto", settings))
    mode, notice = ALL.starting(settings, "bypassPermissions", sandboxed=True)
    assert mode == "default"
    assert "switches it off" in str(notice)


def test_bypass_is_refused_for_root_outside_a_sandbox(world: World) -> None:
    settings = world.settings()
    mode, notice = ALL.starting(settings, "bypassPermissions", as_root=True)
    assert mode == "default"
    assert "root" in str(notice)
    assert ALL.starting(settings, "bypassPermissions", as_root=True, sandboxed=True) == ("bypassPermissions", None)
    assert ALL.starting(settings, "bypassPermissions", as_root=False) == ("bypassPermissions", None)


def test_a_repository_cannot_start_bypass_however_trusted(world: World) -> None:
    for layer in ("project", "local"):
        settings = world.settings(**{layer: {"defaultMode": "bypassPermissions"}, "user": {"defaultMode": "plan"}})
        assert ALL.starting(settings, as_root=False) == ("plan", None)


def test_an_untrusted_repository_does_not_choose_the_mode(world: World) -> None:
    settings = world.settings(trusted=False, project={"defaultMode": "acceptEdits"})
    assert ALL.starting(settings) == ("default", None)
    assert ALL.starting(world.settings(project={"defaultMode": "acceptEdits"})) == ("acceptEdits", None)


def test_the_classifier_is_for_calls_on_which_nobody_had_an_opinion(world: World) -> None:
    settings = world.settings(user={"ask": ["Bash(git push *)"]})
    auto = ALL.effective("auto", settings)
    assert may_classify(world.command("make", settings=settings, mode="auto"), auto)
    assert may_classify(
        world.judge("Read", {"file_path": "/etc/x"}, settings, mode="auto"), ALL.effective("auto", settings)
    )
    assert not may_classify(
        world.command("git push x", settings=settings, mode="auto"), ALL.effective("auto", settings)
    )
    assert not may_classify(
        world.judge("Write", {"file_path": ".git/x"}, settings, mode="auto"), ALL.effective("auto", settings)
    )
    assert not may_classify(world.command("make", settings=settings), ALL.effective("default", settings))


# Working directories.


def test_an_added_folder_is_read_like_the_working_directory(world: World) -> None:
    (world.base / "more").mkdir()
    outside = str(world.base / "more" / "x")
    assert isinstance(world.judge("Read", {"file_path": outside}, world.settings()), Ask)
    assert isinstance(
        world.judge("Read", {"file_path": outside}, world.settings(), roots=(world.base / "more",)), Allow
    )
    for spelling in (str(world.base / "more"), "../more"):
        settings = world.settings(user={"additionalDirectories": [spelling]})
        assert isinstance(world.judge("Read", {"file_path": outside}, settings), Allow)
    assert isinstance(world.judge("Read", {"file_path": f"{world.base}/more-evil/x"}, settings), Ask)


def test_a_read_outside_says_so_and_a_rule_allows_it(world: World) -> None:
    decision = world.judge("Read", {"file_path": "/etc/hosts"}, world.settings())
    assert decision.layer == "working-directory"
    assert decision.reason == "Read would read /etc/hosts, outside the working directories."
    allowed = world.judge("Read", {"file_path": "/etc/hosts"}, world.settings(user={"allow": ["Read(//etc/hosts)"]}))
    assert isinstance(allowed, Allow)
    assert allowed.rule == "Read(//etc/hosts)"


def test_the_folder_a_session_began_in_stays_readable_from_a_folder_below(world: World) -> None:
    (world.project / "sub").mkdir()
    decision = world.judge("Read", {"file_path": "../x"}, world.settings(), cwd=world.project / "sub")
    assert isinstance(decision, Allow)


def test_reading_in_a_command_counts_like_reading_by_a_tool(world: World) -> None:
    settings = world.settings()
    part = Part("cat /etc/hosts", read_only=True)
    decision = world.command(part, settings=settings, read_only=True, reads=(Path("/etc/hosts"),))
    assert decision.layer == "working-directory"
    assert isinstance(world.command(part, settings=settings, read_only=True, reads=(world.project / "x",)), Allow)


def test_accept_edits_does_not_take_a_command_for_an_edit_by_its_name_alone(world: World) -> None:
    settings, inside = world.settings(), (world.project / "x",)
    spelled = Part("sed -i e x", exact=True)
    assert isinstance(world.command(spelled, settings=settings, mode="acceptEdits", writes=inside), Ask)
    assert isinstance(world.command("mkdir x", settings=settings, mode="acceptEdits"), Ask)
    assert isinstance(world.command("rm x", settings=settings, mode="acceptEdits", deletes=inside), Allow)
    assert isinstance(
        world.command("rm x", settings=settings, mode="acceptEdits", deletes=inside, destructive=True), Allow
    )


def test_a_deny_rule_holds_in_every_mode_and_over_every_allow(world: World) -> None:
    settings = world.settings(user={"deny": ["Edit(x)"], "allow": ["Edit", "Write"]})
    for mode in MODES:
        said = [Allow("by a hook", layer="hooks")]
        assert isinstance(world.judge("Write", {"file_path": "x"}, settings, mode=mode, said=said), Deny)


def test_settings_without_a_home_directory_still_judge(tmp_path: Path) -> None:
    settings: Settings = load(tmp_path, {}, managed=str(tmp_path / "none"))
    decision = judge(Bash, Facts(), Context(tmp_path, settings), [], CommandInput(command="ls"))
    assert isinstance(decision, Ask)


def test_in_plan_no_allow_rule_lets_a_call_that_may_change_something_run_unasked(world: World) -> None:
    settings = world.settings(user={"allow": ["mcp__files__save", "Bash(npm test)"]})
    for facts in (Facts(open_world=False), Facts(parts=(Part("npm test"),))):
        decision = judge(Bash, facts, Context(world.project, settings, mode="plan"), [Allow("yes", layer="hooks")])
        assert isinstance(decision, Ask)
        assert decision.layer == "mode"
