"""Settings: layers, origins, and nothing skipped silently."""

import json

import pytest

from pegboard.errors import SettingsError
from pegboard.settings import installed_keys, load
from pegboard_settings import ORDER


@pytest.fixture
def world(tmp_path):
    """A home, a project and a managed folder of their own."""

    class World:
        home, project, managed = tmp_path / "home", tmp_path / "home" / "project", tmp_path / "managed"

        def write(self, layer, value):
            path = {
                "user": self.home / ".pegboard/settings.json",
                "project": self.project / ".pegboard/settings.json",
                "local": self.project / ".pegboard/settings.local.json",
                "managed": self.managed / "settings.json",
            }[layer]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value if isinstance(value, str) else json.dumps(value))
            return path

        def load(self, env=None, **more):
            self.project.mkdir(parents=True, exist_ok=True)
            env = {"HOME": str(self.home), **(env or {})}
            return load(more.pop("cwd", self.project), env, managed=str(self.managed), **more)

    return World()


def test_the_strongest_layer_wins_and_is_named(world):
    for layer in ("user", "project", "local", "managed"):
        world.write(layer, {"strict": layer == "managed"})
    settings = world.load({"PEGBOARD_STRICT": "0"}, cli={"strict": False}, trusted=True)
    assert settings.get("strict") is True
    row = next(row for row in settings.explain() if row["key"] == "strict")
    assert row["layer"] == "managed"
    assert [said["layer"] for said in row["from"]] == [name for name in ORDER if name != "baked"]
    assert row["from"][2]["source"] == "PEGBOARD_STRICT"


def test_lists_that_forbid_are_joined_and_each_item_keeps_its_origin(world):
    user = world.write("user", {"disable": ["web"]})
    world.write("project", {"disable": ["shell"]})
    settings = world.load({"PEGBOARD_DISABLE": "agents, web"})
    assert settings.get("disable") == ["agents", "web", "shell"]
    assert ("web", str(user)) in [(item, layer.source_of("disable")) for item, layer in settings.items("disable")]


def test_choices_only_ever_narrow(world):
    world.write("managed", {"only": ["files", "search"]})
    world.write("user", {"only": ["files", "shell"]})
    assert world.load().get("only") == ["files"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{"disable": [}', ":1:14:", "not valid JSON"),
        ('{\n "strict": true\n "only": 1}', ":3:2:", "not valid JSON"),
        ("[]", ":1:1:", "Expected a JSON object"),
        ('{"strict": "yes"}', "", 'strict must be true or false, got "yes"'),
        ('{"disable": "web"}', "", 'disable must be a list of strings, got "web"'),
        ('{"disable": [1]}', "", "disable must be a list of strings, got [1]"),
        ('{"prefer": {"Read": 1}}', "", "prefer must be an object with string values"),
        (
            '{"deferral": {"agents": {"Explore": "offf"}}}',
            "",
            'deferral.agents: Explore must be one of off, auto, always, got "offf"',
        ),
        ('{"only": []}', "", "only is empty, which would leave nothing"),
        ('{"disable": ["a"], "disable": []}', "", "Duplicate key 'disable'"),
    ],
)
def test_a_broken_file_is_named_with_its_place(world, text, place, words):
    path = world.write("user", text)
    settings = world.load()
    [problem] = settings.problems
    assert str(path) in str(problem)
    assert place in str(problem)
    assert words in str(problem)
    with pytest.raises(SettingsError):
        settings.require_sound()


def test_bytes_that_are_not_text_are_named_with_their_place(world):
    path = world.write("user", "{}")
    path.write_bytes(b'{\n"a": "\xff"}')
    [problem] = world.load().problems
    assert (problem.line, problem.column) == (2, 7)


def test_an_unreadable_file_is_a_problem_not_a_silence(world):
    path = world.write("user", "{}")
    path.unlink()
    path.mkdir()
    assert "cannot be read: Is a directory" in str(world.load().problems[0])


def test_a_bom_is_accepted(world):
    world.write("user", "\ufeff" + '{"strict": true}')
    assert world.load().get("strict") is True


def test_an_unknown_key_is_reported_with_the_nearest(world):
    world.write("user", {"disabel": ["web"], "permissions": {"dney": []}})
    messages = [str(notice) for notice in world.load().notices]
    assert any("There is no setting 'disabel'. Did you mean 'disable'?" in message for message in messages)
    assert any("permissions.dney" in message for message in messages)


def test_an_unknown_variable_is_reported_with_the_nearest(world):
    [notice] = world.load({"PEGBOARD_DISABEL": "web"}).notices
    assert str(notice) == "PEGBOARD_DISABEL: Pegboard has no such variable. Did you mean 'PEGBOARD_DISABLE'?"


@pytest.mark.parametrize("variable", [{"PEGBOARD_STRICT": "maybe"}, {"PEGBOARD_ONLY": ""}, {"PEGBOARD_ONLY": " , "}])
def test_a_variable_that_makes_no_sense_is_a_problem(world, variable):
    settings = world.load(variable)
    assert settings.problems
    if "PEGBOARD_ONLY" in variable:
        assert settings.get("only") == []  # nothing is allowed while in doubt


def test_a_broken_managed_file_allows_nothing(world):
    world.write("managed", "{")
    assert world.load().get("only") == []


def test_a_repository_cannot_loosen_anything(world):
    world.write("project", {"prefer": {"Read": "evil"}, "permissions": {"allow": ["Bash"], "deny": ["Write"]}})
    settings = world.load()
    assert settings.get("prefer") is None
    assert settings.get("permissions.allow") is None
    assert settings.get("permissions.deny") == ["Write"]
    assert "an untrusted project cannot loosen permissions" in str(settings.notices[0])
    assert world.load(trusted=True).get("prefer") == {"Read": "evil"}


def test_a_settings_file_on_the_command_line_must_exist(world):
    assert "There is no such settings file" in str(world.load(settings_file="nowhere.json").problems[0])


def test_the_project_is_found_from_below_and_home_is_not_a_project(world):
    world.write("user", {"strict": True})
    world.write("project", {"disable": ["web"]})
    below = world.project / "a" / "b"
    below.mkdir(parents=True)
    assert world.load(cwd=below).root == str(world.project)
    elsewhere = world.home / "elsewhere"
    elsewhere.mkdir()
    assert world.load(cwd=elsewhere).root == str(elsewhere)


def test_managed_parts_are_read_in_order(world):
    for name in ("20-b", "10-a"):
        (world.managed / "settings.d").mkdir(parents=True, exist_ok=True)
        (world.managed / "settings.d" / f"{name}.json").write_text(json.dumps({"disable": [name]}))
    assert world.load().get("disable") == ["10-a", "20-b"]


def test_every_setting_has_a_sentence_about_it():
    keys = installed_keys()
    assert {"disable", "read.maxTokens", "sandbox.enabled"} <= set(keys)
    assert all(keys[name].doc.endswith(".") for name in keys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"maxTurns": ' + "1" * 5000 + "}", "A number has too many digits."),
        ('{"timeouts": {"*": Infinity}}', "Infinity is not a number in JSON."),
        ('{"permissions": ["Bash"]}', 'permissions must be an object, got ["Bash"].'),
        ('{"permissions.deny": ["Bash"], "permissions": {"deny": []}}', "Duplicate setting permissions.deny"),
        ("{" + ",".join(f'"k{i}": 1' for i in range(100_000)) + ', "k99999": 1}', "Duplicate key 'k99999'"),
        (" " * 4_000_001, "it is longer than 4000000 bytes"),
    ],
    ids=["digits", "constant", "group", "dotted twin", "late twin", "too long"],
)
def test_a_hostile_file_is_a_problem_and_takes_no_time(world, text, said):
    path = world.write("project", text)
    (problem,) = world.load().problems
    assert str(problem).startswith(str(path))
    assert said in str(problem)


def test_a_variable_with_too_many_digits_is_a_problem(world):
    (problem,) = world.load({"PEGBOARD_MAX_TOOL_CONCURRENCY": "1" * 5000}).problems
    assert "Expected a whole number" in str(problem)


@pytest.mark.parametrize(
    ("value", "key", "taken_for"),
    [({"disable": "shell"}, "only", []), ({"only": "files"}, "only", []), ({"safeMode": "yes"}, "safeMode", True)],
)
def test_a_switch_that_makes_no_sense_narrows(world, value, key, taken_for):
    world.write("user", value)
    settings = world.load()
    assert settings.problems
    assert settings.get(key) == taken_for


def test_a_variable_that_makes_no_sense_narrows(world):
    assert world.load({"PEGBOARD_SAFE_MODE": "maybe"}).get("safeMode") is True


def test_a_repository_cannot_lift_the_users_safe_mode(world):
    world.write("user", {"safeMode": True})
    world.write("project", {"safeMode": False})
    assert world.load().get("safeMode") is True
    assert world.load(trusted=True).get("safeMode") is False


def test_a_home_that_is_a_link_or_ends_in_a_slash_is_still_no_project(world, tmp_path):
    world.write("user", {"model": "mine"})
    (tmp_path / "link").symlink_to(world.home)
    below = world.home / "below"
    below.mkdir()
    for spelling in (f"{world.home}/", str(tmp_path / "link")):
        for cwd in (below, world.home):
            settings = world.load({"HOME": spelling}, cwd=cwd)
            assert settings.root == str(cwd)
            assert settings.get("model") == "mine"
            assert not settings.notices


ONE_SLIP = """{
  "permissions": {
    "allow": [
      "Bash(ls)",
      7,
      "Read"
    ],
    "additionalDirectories": ["/srv", null]
  },
  "hooks": {
    "preEditHook": "x",
    "Stop": []
  }
}"""


@pytest.mark.parametrize("layer", ["user", "project", "local"])
def test_one_malformed_entry_of_our_own_files_is_skipped_with_its_line_and_the_rest_holds(world, layer):
    path = world.write(layer, ONE_SLIP)
    settings = world.load(trusted=True)
    assert settings.problems == []
    assert settings.get("permissions.allow") == ["Bash(ls)", "Read"]
    assert settings.get("permissions.additionalDirectories") == ["/srv"]
    assert settings.get("hooks") == {"Stop": []}
    places = {str(notice).partition(": ")[0] for notice in settings.notices}
    assert places == {f"{path}:5", f"{path}:8", f"{path}:11"}
    assert all(str(notice).endswith("It is skipped.") for notice in settings.notices)


@pytest.mark.parametrize(
    "text",
    [
        '{"permissions": {"deny": ["Bash", 7]}}',
        '{"permissions": {"ask": [{}]}}',
        '{"hooks": {"PreToolUse": "x"}}',
        '{"hooks": []}',
    ],
)
@pytest.mark.parametrize("layer", ["user", "project", "local", "managed"])
def test_a_guard_that_cannot_be_read_stays_fatal_in_every_file(world, text, layer):
    world.write(layer, text)
    with pytest.raises(SettingsError):
        world.load(trusted=True).require_sound()


def test_nothing_is_skipped_in_managed_settings_or_on_the_command_line(world):
    world.write("managed", ONE_SLIP)
    assert world.load().problems
    (world.managed / "settings.json").unlink()
    assert world.load(cli={"permissions": {"allow": [7]}}).problems
