"""Settings, looked at and changed in real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings as how
from hypothesis import strategies as st

from pegboard import Board, Call, Deny
from pegboard_dialog.json_text import REMOVE, with_value

from .played import YES, board_with


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is tested with the seam itself."""
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the person: what Config writes must not reach the real one."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    (place / ".pegboard").mkdir(parents=True)
    return place


async def config(board: Board, mode: str = "default", **given: Any) -> Any:
    return await board.dispatch(Call("1", "Config", given), board.context(mode=mode))


async def test_settings_are_shown_with_their_origins(work, home, answers):
    (work / ".pegboard/settings.json").write_text('{"search": {"hidden": true}}')
    board = board_with(work, answers, maxTurns=7)
    listed = await config(board, action="list")
    assert listed.text.splitlines() == [
        "maxTurns = 7 (cli: the command line)",
        f"search.hidden = true (project: {work}/.pegboard/settings.json)",
    ]
    one = await config(board, action="get", setting="maxTurns")
    assert one.text == "maxTurns = 7 (cli: the command line)\nHow many requests one prompt may take."
    group = await config(board, action="list", setting="compaction")
    assert "compaction.automatic = true (default)" in group.text
    assert answers.asked == [], "reading needs no approval"


async def test_what_may_be_secret_is_not_shown(work, home, answers):
    secrets = {"requestHeaders": {"X-Key": "hunter2"}, "env": {"TOKEN": "hunter3"}, "mcp.config": ['{"k": "hunter4"}']}
    board = board_with(work, answers, **secrets, mcpServers={"notes": {"command": "x", "env": {"K": "hunter5"}}})
    text = (await config(board, action="list")).text
    assert 'requestHeaders = {"X-Key": "(not shown)"}' in text
    assert "hunter" not in text


async def test_a_login_in_an_address_is_not_shown(work, home, answers):
    address = "https://me:hunter2@models.example/v1"
    hooks = ["https://me:hunter3@hooks.example/*"]
    board = board_with(work, answers, **{"openai.baseUrl": address, "allowedHttpHookUrls": hooks})
    listed = await config(board, action="list")
    assert 'openai.baseUrl = "https://(not shown)@models.example/v1"' in listed.text
    assert "hunter" not in listed.text + listed.value.model_dump_json()


async def test_a_change_asks_and_keeps_every_other_byte(work, home, answers):
    answers.decision = YES
    board = board_with(work, answers)
    first = await config(board, action="set", setting="maxTurns", value=7)
    file = work / ".pegboard/settings.local.json"
    assert first.text == f"Set maxTurns to 7 in {file}. It counts from the next session on."
    assert json.loads(file.read_text()) == {"maxTurns": 7}
    assert (work / ".pegboard/.gitignore").read_text() == "settings.local.json\n"
    [question] = answers.asked
    assert question.description == "Set maxTurns to 7 for this project"
    assert str(question.preview).startswith(f"{file}\n-maxTurns: ")
    assert str(question.preview).endswith("\n+maxTurns: 7")
    assert question.rules == ()
    await config(board, action="set", setting="search.hidden", value=True)
    assert file.read_text() == '{\n  "maxTurns": 7,\n  "search": {\n    "hidden": true\n  }\n}\n'
    gone = await config(board, action="set", setting="maxTurns")
    assert gone.text.startswith(f"Took away maxTurns in {file}.")
    assert json.loads(file.read_text()) == {"search": {"hidden": True}}
    assert board_with(work, answers).settings.get("search.hidden") is True


async def test_the_settings_for_all_projects_keep_their_form(work, home, answers):
    answers.decision = YES
    file = home / ".pegboard/settings.json"
    file.parent.mkdir()
    file.write_text('{ "model" : "a\\u00e9",\n\t"permissions": {"deny": ["Bash(rm *)"]}, "x-y": 1e3 }\n')
    result = await config(board_with(work, answers), action="set", setting="model", value="b", scope="user")
    assert not result.is_error, result.text
    assert file.read_text() == '{ "model" : "b",\n\t"permissions": {"deny": ["Bash(rm *)"]}, "x-y": 1e3 }\n'


async def test_a_person_is_asked_in_every_mode_or_nothing_changes(work, home, answers):
    answers.decision = Deny("No.", layer="ask")
    board = board_with(work, answers, permissions={"allow": ["Config", "Config(maxTurns)"]})
    for mode in ("default", "acceptEdits", "bypassPermissions", "dontAsk", "plan"):
        answers.asked.clear()
        result = await config(board, mode, action="set", setting="maxTurns", value=7)
        assert result.code == "permission_denied"
        assert len(answers.asked) == (mode not in ("dontAsk", "plan")), mode
    assert not (work / ".pegboard/settings.local.json").exists()


GUARDED = [
    *("permissions.allow", "permissions.deny", "permissions.defaultMode", "permissions.additionalDirectories"),
    *("hooks", "disableAllHooks", "audit", "sandbox.enabled", "sandbox.allowUnsandboxedCommands", "mcpServers"),
    *("mcp.trustedServers", "mcp.sampling", "env", "disable", "only", "safeMode", "availableTools"),
    *("allowManagedHooksOnly", "openai.baseUrl", "bash.confine", "pluginDirs", "systemPrompt", "requestHeaders"),
    *("compaction.focus", "jsonSchema", "undo.checkpointMs"),
]


async def test_what_guards_runs_or_reaches_something_is_never_changed(work, home, answers):
    answers.decision = YES
    board = board_with(work, answers)
    for setting in GUARDED:
        result = await config(board, action="set", setting=setting, value=True)
        assert (result.code, "Nothing was changed." in result.text) == ("permission_denied", True), setting
        assert "Only the user can change it, in a settings file." in result.text
    assert answers.asked == []
    assert not (work / ".pegboard/settings.local.json").exists()


async def test_what_the_owner_of_the_machine_has_set_stays(work, home, answers):
    answers.decision = YES
    (work / "managed").mkdir()
    (work / "managed/settings.json").write_text('{"maxTurns": 3}')
    result = await config(board_with(work, answers), action="set", setting="maxTurns", value=7)
    assert "which belongs to the owner of this machine." in result.text


BAD: list[tuple[dict[str, Any], str]] = [
    ({"action": "get"}, "action get needs the name of a setting."),
    ({"action": "set"}, "action set needs the name of a setting."),
    ({"action": "list", "value": 1}, "action list takes no value and no scope."),
    ({"action": "drop"}, "action"),
    ({"action": "get", "setting": "maxTurn"}, "There is no setting 'maxTurn'. Did you mean 'maxTurns'?"),
    ({"action": "set", "setting": "maxTurn", "value": 1}, "Did you mean 'maxTurns'?"),
    ({"action": "set", "setting": "maxTurns", "value": 0}, "maxTurns must be a whole number of 1 or more, got 0."),
    ({"action": "set", "setting": "effort", "value": "huge"}, "effort must be one of"),
    ({"action": "set", "setting": "maxTurns", "value": 1, "scope": "managed"}, "scope"),
]


async def test_bad_input_gets_a_clear_error_and_nothing_changes(work, home, answers):
    answers.decision = YES
    board = board_with(work, answers)
    for given, words in BAD:
        result = await config(board, **given)
        assert (result.is_error, words in result.text, answers.asked) == (True, True, []), result.text
    assert not (work / ".pegboard/settings.local.json").exists()


@pytest.mark.parametrize("trouble", ["came with the repository", "link", "broken"])
async def test_a_file_that_is_not_the_persons_own_is_left_alone(work, home, answers, trouble):
    answers.decision = YES
    file = work / ".pegboard/settings.local.json"
    board = board_with(work, answers)
    if trouble == "link":
        (work / "elsewhere.json").write_text("{}")
        file.symlink_to(work / "elsewhere.json")
    elif trouble == "broken":
        await config(board, action="set", setting="maxTurns", value=7)
        board.settings.trusted = True
        file.write_text("{")
    else:
        file.write_text('{"maxTurns": 3}')
    before = file.read_bytes()
    result = await config(board, action="set", setting="maxTurns", value=9)
    assert (result.is_error, "Nothing was changed." in result.text) == (True, True)
    assert file.read_bytes() == before


async def test_a_stronger_place_is_named(work, home, answers):
    answers.decision = YES
    result = await config(board_with(work, answers, maxTurns=5), action="set", setting="maxTurns", value=9)
    assert result.text.endswith("Where the command line is used, its value counts instead.")


async def test_deny_rules_name_the_setting(work, home, answers):
    answers.decision = YES
    board = board_with(work, answers, permissions={"deny": ["Config(model)"]})
    assert (await config(board, action="get", setting="model")).code == "permission_denied"
    assert not (await config(board, action="get", setting="maxTurns")).is_error


NAMES = st.sampled_from(["a", "b", "c.d", "c.e", "c.f.g", "é"])
VALUES = st.one_of(st.booleans(), st.integers(), st.text(max_size=5))
INNER = st.dictionaries(st.sampled_from(["d", "e", "x"]), VALUES, max_size=3)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c", "z"]), st.one_of(VALUES, INNER, st.lists(VALUES, max_size=2)))


def flat(found: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(found, dict):
        return {prefix[:-1]: found}
    return {key: value for name, inner in found.items() for key, value in flat(inner, f"{prefix}{name}.").items()}


@how(max_examples=60, deadline=None)
@for_all(OBJECTS, NAMES, VALUES, st.sampled_from([None, 0, 1, 2, 4]))
def test_one_value_changes_and_all_others_stay(found, name, value, indent):
    text = json.dumps(found, indent=indent)
    group = found.get(name.partition(".")[0])
    if "." in name and group is not None and not isinstance(group, dict):
        return  # The group is a value itself: Config finds that out and writes nothing.
    made = with_value(text, name, value)
    assert flat(json.loads(made)) == {
        **{key: one for key, one in flat(found).items() if not key.startswith(f"{name}.") and key != name},
        name: value,
    }
    again = with_value(made, name, REMOVE)
    assert name not in flat(json.loads(again))


def test_an_empty_text_becomes_an_object():
    assert with_value("", "a.b", 1) == '{\n  "a": {\n    "b": 1\n  }\n}\n'
