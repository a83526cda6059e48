"""Settings files of another host of the same rules: the same layers, the same meaning, and its own keys let be."""

import json
import os
import sys
from pathlib import Path

import pytest

import pegboard_processes
from pegboard import Allow, Board, Deny, ProcessSpec
from pegboard.settings import load
from pegboard_rules.grammar import read_rules
from pegboard_rules.modes import ALL

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import World as Rules

PLACES = {
    "managed": "etc/managed-settings.json",
    "part": "etc/managed-settings.d/10-web.json",
    "local": "project/.claude/settings.local.json",
    "project": "project/.claude/settings.json",
    "user": "home/.claude/settings.json",
    "own-project": "project/.pegboard/settings.json",
    "own-user": "home/.pegboard/settings.json",
}


@pytest.fixture
def world(tmp_path, monkeypatch):
    class World:
        base = tmp_path
        home, project = tmp_path / "home", tmp_path / "project"

        def write(self, place, value):
            path = tmp_path / PLACES[place]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value, indent=1))
            return str(path)

        def load(self, env=None, **more):
            self.project.mkdir(exist_ok=True)
            env = {"HOME": str(self.home), **(env or {})}
            cwd = more.pop("cwd", self.project)
            return load(cwd, env, managed=(str(tmp_path / "own"), str(tmp_path / "etc")), **more)

        def judge(self, name, path, settings, **changes):
            return Rules.judge(self, name, {"file_path": str(path)}, settings, **changes)

        context = Rules.context

    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return World()


@pytest.mark.parametrize("place", ["managed", "part", "local", "project", "user"])
def test_deny_and_ask_count_from_every_file_with_its_line(world, place):
    source = world.write(place, {"permissions": {"deny": ["Read(.env)"], "ask": ["Bash(git push:*)"]}})
    settings = world.load()
    assert settings.problems == settings.notices == []
    decision = world.judge("Read", world.project / ".env", settings)
    assert isinstance(decision, Deny)
    assert (decision.source, decision.line) == (source, 4)
    assert settings.get("permissions.ask") == ["Bash(git push:*)"]


def test_their_own_keys_are_let_be_and_ours_are_not_read_from_them(world):
    theirs = {"model": "opus", "statusLine": {"type": "command"}, "cleanupPeriodDays": 9, "disable": ["files"]}
    world.write("user", theirs)
    world.write("project", {**theirs, "$schema": "x", "permissions": {"deny": [], "somethingNew": 1}})
    settings = world.load()
    assert settings.problems == settings.notices == []
    assert settings.get("model") is None
    assert settings.get("disable") is None


def test_allow_rules_of_a_project_wait_for_trust_and_those_of_the_user_do_not(world):
    world.write("project", {"permissions": {"allow": ["Edit(/a/**)"]}})
    world.write("user", {"permissions": {"allow": ["Edit(//srv/**)"]}})
    assert world.load().get("permissions.allow") == ["Edit(//srv/**)"]
    assert world.load(trusted=True).get("permissions.allow") == ["Edit(/a/**)", "Edit(//srv/**)"]


def test_bypass_never_comes_from_a_repository_however_trusted(world):
    world.write("project", {"permissions": {"defaultMode": "bypassPermissions"}})
    assert ALL.starting(world.load(trusted=True), as_root=False) == ("default", None)


def test_a_mode_that_only_the_other_host_knows_is_said_and_stops_nothing(world):
    world.write("user", {"permissions": {"defaultMode": "delegate"}})
    settings = world.load()
    assert settings.problems == []
    assert "has no mode 'delegate'" in str(settings.notices[0])


def test_a_slash_starts_at_the_folder_that_the_kind_of_file_says(world):
    for place in ("managed", "local", "project", "user"):
        world.write(place, {"permissions": {"deny": [f"Read(/{place})"]}})
    (world.project / "sub").mkdir()
    settings = world.load(cwd=world.project / "sub")
    anchors = {rule.layer: rule.anchor for rule in read_rules(settings)}
    assert anchors == {
        "managed": str(world.base / "etc"),
        "local": str(world.project / "sub"),
        "project": str(world.project),
        "user": str(world.home / ".claude"),
    }
    for layer, anchor in anchors.items():
        assert isinstance(world.judge("Read", f"{anchor}/{layer}", settings), Deny), layer


def test_the_users_folder_can_be_moved_and_then_rules_start_there(world):
    moved = world.base / "moved"
    moved.mkdir()
    (moved / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Read(/secret)"]}}))
    world.write("user", {"permissions": {"deny": ["Read(/other)"]}})
    settings = world.load({"CLAUDE_CONFIG_DIR": str(moved)})
    assert settings.get("permissions.deny") == ["Read(/secret)"]
    assert isinstance(world.judge("Read", moved / "secret", settings), Deny)


def test_our_own_file_of_a_layer_comes_first(world):
    world.write("user", {"permissions": {"defaultMode": "plan"}})
    world.write("own-user", {"permissions": {"defaultMode": "acceptEdits"}})
    assert world.load().get("permissions.defaultMode") == "acceptEdits"


def test_a_broken_file_stops_what_would_act_on_it_and_a_managed_one_leaves_nothing(world):
    world.write("project", {})
    (world.project / ".claude" / "settings.json").write_text("{")
    assert "not valid JSON" in str(world.load().problems[0])
    world.write("managed", {})
    (world.base / "etc" / "managed-settings.json").write_text("{")
    assert world.load().get("only") == []


def test_the_owner_can_reserve_allow_rules_and_what_restricts_still_counts(world):
    by = world.write("managed", {"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["Read(//a)"]}})
    world.write("user", {"permissions": {"allow": ["Bash"], "deny": ["Read(.env)"], "ask": ["WebFetch"]}})
    settings = world.load(cli={"permissions": {"allow": ["Edit"]}})
    assert settings.get("permissions.allow") == ["Read(//a)"]
    assert settings.get("permissions.deny") == ["Read(.env)"]
    assert settings.get("permissions.ask") == ["WebFetch"]
    assert f"permissions.allow is not used: {by} reserves it." in str(settings.notices[0])


def test_the_owner_can_reserve_hooks(world):
    def hooks(name):
        return {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": name}]}]}}

    world.write("managed", {"allowManagedHooksOnly": True, **hooks("guard")})
    world.write("user", hooks("mine"))
    world.write("project", hooks("theirs"))
    settings = world.load(trusted=True)
    assert [layer.name for layer in settings.holders("hooks")] == ["managed"]


async def test_variables_of_a_project_reach_processes_once_it_is_trusted_and_never_the_host(world):
    world.write("project", {"env": {"GREETING": "hello", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}})
    said = []
    for trusted in (False, True):
        board = Board(world.load(trusted=trusted), [], plugins=[pegboard_processes])
        spec = ProcessSpec(("sh", "-c", "printf %s $GREETING"), world.project)
        ended = await board.services.processes.run(spec)
        said.append(ended.output.read_text())
    assert said == ["", "hello"]
    assert os.environ.get("ANTHROPIC_BASE_URL") != "http://127.0.0.1:1"


@pytest.mark.parametrize("key", ["allowManagedPermissionRulesOnly", "allowManagedHooksOnly"])
def test_nobody_else_can_reserve_anything(world, key):
    world.write("user", {key: True, "permissions": {"allow": ["Bash"]}})
    settings = world.load()
    assert settings.get("permissions.allow") == ["Bash"]
    assert f"{key} is not used: only managed settings may set it." in str(settings.notices[0])


def test_in_the_home_directory_the_users_files_are_read_once_and_as_the_users(world):
    world.write("user", {"permissions": {"allow": ["Read(//srv/**)"]}})
    world.write("own-user", {"permissions": {"allow": ["Read(//opt/**)"]}})
    settings = world.load(cwd=world.home)
    assert settings.notices == settings.withheld == []
    assert [layer.name for layer in settings.layers] == ["user", "user"]
    assert isinstance(world.judge("Read", "/srv/x", settings), Allow)


def test_a_folder_of_a_repository_does_not_become_a_project_by_a_compatible_folder_alone(world):
    world.write("own-project", {"permissions": {"deny": ["Read(.env)"]}})
    (world.project / "sub" / ".claude").mkdir(parents=True)
    settings = world.load(cwd=world.project / "sub")
    assert settings.root == str(world.project)
    assert settings.get("permissions.deny") == ["Read(.env)"]


def test_a_compatible_folder_marks_a_project_where_nothing_else_does(world):
    world.write("project", {"permissions": {"deny": ["Read(.env)"]}})
    (world.project / "sub").mkdir()
    assert world.load(cwd=world.project / "sub").root == str(world.project)


@pytest.mark.parametrize("what", ["pipe", "device"])
def test_what_is_no_file_is_said_and_not_waited_for(world, what):
    path = world.project / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    os.mkfifo(path) if what == "pipe" else path.symlink_to("/dev/zero")
    assert "cannot be read: it is not a file." in str(world.load().problems[0])
