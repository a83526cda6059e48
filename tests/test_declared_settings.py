"""A third party's distribution has settings of its own: typed, defaulted, layered, and seen wherever ours are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .venvs import Environment, write_wheel

DECLARATION = """\
[settings."acme.limit"]
kind = "count"
default = 5
doc = "How many."
variable = "ACME_LIMIT"

[settings."acme.mood"]
kind = "choice"
choices = ["calm", "brisk"]
default = "calm"
repository = true
doc = "How it talks."

[settings."acme.words"]
kind = "strings"
combine = "union"
doc = "What it says."
"""

SOURCE = '''
from pegboard import Context, Input, hookimpl, tool


class ShowInput(Input):
    """Nothing to say."""


@tool(read_only=True, open_world=False)
def Show(args: ShowInput, ctx: Context) -> str:
    """Show the settings of acme."""
    get = ctx.settings.get
    return f"{get('acme.limit')} {get('acme.mood')} {get('acme.words', [])}"


@hookimpl
def register_tools():
    return [Show]
'''


def install(environment: Environment, declaration: str = DECLARATION, name: str = "acme", **more: Any) -> None:
    module = name.replace("-", "_")
    files = {f"{module}/__init__.py": more.pop("source", SOURCE), f"{module}/pegboard.toml": declaration}
    entries = more.pop("entries", {"acme.show": module})
    wheel = write_wheel(environment.wheels, name, files, entries, settings={name: module}, **more)
    environment.install(wheel)


@pytest.fixture
def acme(environment: Environment) -> Environment:
    install(environment)
    return environment


def project(environment: Environment, values: dict[str, Any]) -> Path:
    file = environment.work / ".pegboard/settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(values, indent=1))
    return file


def rows(environment: Environment, *words: str, **variables: str) -> dict[str, dict[str, Any]]:
    done = environment.pegboard("settings", *words, "--json", **variables)
    assert done.returncode == 0, done.stderr
    return {row["key"]: row for row in json.loads(done.stdout)["settings"]}


def test_defaults_are_returned_where_nothing_is_set(acme: Environment) -> None:
    assert acme.call("Show") == "5 calm []"


def test_values_come_from_the_users_file_the_project_and_a_variable(acme: Environment) -> None:
    acme.settings(acme={"limit": 7, "words": ["mine"]})
    assert acme.call("Show") == "7 calm ['mine']"
    assert acme.pegboard("call", "Show", ACME_LIMIT="9").stdout == "9 calm ['mine']\n"
    project(acme, {"acme": {"limit": 8, "mood": "brisk", "words": ["theirs"]}})
    done = acme.pegboard("call", "Show")
    assert done.stdout == "7 brisk ['mine']\n"  # What needs trust waits, and the person is told.
    assert (
        "acme.limit is not used: an untrusted project cannot loosen permissions. To use it, run pegboard trust."
        in done.stderr
    )
    assert acme.pegboard("trust").returncode == 0
    assert acme.call("Show") == "8 brisk ['theirs', 'mine']"


def test_settings_show_them_with_their_origin(acme: Environment) -> None:
    acme.settings(acme={"limit": 7})
    shown = rows(acme, "--all")
    assert shown["acme.limit"]["value"] == 7
    assert shown["acme.limit"]["from"][0]["source"] == str(acme.home / ".pegboard/settings.json")
    assert (shown["acme.mood"]["value"], shown["acme.mood"]["layer"]) == ("calm", "default")
    assert (shown["acme.mood"]["distribution"], shown["acme.mood"]["doc"]) == ("acme", "How it talks.")
    assert shown["read.maxTokens"]["value"] == 25000
    assert list(rows(acme, "acme")) == ["acme.limit", "acme.mood", "acme.words"]
    assert 'acme.mood   "calm"  default' in acme.pegboard("settings", "acme").stdout
    assert "Did you mean 'acme.limit'?" in acme.pegboard("settings", "acme.limt").stderr


def test_completion_offers_them(acme: Environment) -> None:
    assert acme.pegboard("__complete", "settings", "acme.").stdout.split() == ["acme.limit", "acme.mood", "acme.words"]


@pytest.mark.parametrize("command", ["call", "doctor"])
def test_a_value_of_the_wrong_kind_is_named_with_its_line(acme: Environment, command: str) -> None:
    file = project(acme, {"acme": {"mood": "sad"}})
    done = acme.pegboard(command, *(["Show"] if command == "call" else []))
    assert done.returncode == (2 if command == "call" else 1)
    assert f'{file}:3:11: acme.mood must be one of calm, brisk, got "sad".' in done.stdout + done.stderr


def test_doctor_says_nothing_against_them_and_knows_a_misspelt_one(acme: Environment) -> None:
    acme.settings(acme={"limit": 7})
    before = json.loads(acme.pegboard("doctor", "--json").stdout)
    assert [finding for finding in before if "acme" in finding["message"]] == []
    acme.settings(acme={"limt": 7})
    said = acme.pegboard("doctor").stdout
    assert "There is no setting 'acme.limt'. Did you mean 'acme.limit'?" in said


def test_keys_of_a_disabled_plugin_are_known_and_nothing_of_it_is_imported(environment: Environment) -> None:
    canary = environment.folder / "imported"
    install(environment, source=f"import pathlib\npathlib.Path({str(canary)!r}).touch()\n{SOURCE}")
    environment.settings(acme={"limit": 7}, disable=["acme"])
    done = environment.pegboard("settings")
    assert (done.returncode, done.stderr) == (0, "")
    assert "acme.limit" in done.stdout
    assert environment.tools().keys() == {"Read"}
    assert not canary.exists()


def test_keys_of_what_is_not_installed_are_kept_and_said(acme: Environment) -> None:
    acme.settings(acme={"limit": 7})
    acme.uninstall("acme")
    (acme.work / "a.txt").write_text("alpha")
    done = acme.pegboard("call", "Read", "file_path=a.txt")
    assert done.returncode == 0
    assert "There is no setting 'acme'." in done.stderr


def test_a_declaration_that_cannot_be_used_puts_its_plugins_into_quarantine(environment: Environment) -> None:
    install(environment, DECLARATION.replace('"acme.limit"', '"read.limit"'))
    row = environment.plugins()["acme:acme.show"]
    assert (row["state"], row["kind"]) == ("quarantined", "bad-settings")
    assert "the setting 'read.limit' must begin with the name of the distribution: acme.limit" in row["reason"]
    assert "must begin with the name" in environment.pegboard("doctor").stdout


def test_an_edit_of_the_declaration_in_a_checkout_is_seen_at_once(environment: Environment) -> None:
    folder = environment.folder / "acme"
    (folder / "src/acme").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "acme"\nversion = "1"\n[project.entry-points.pegboard]\n"acme.show" = "acme"\n'
        '[project.entry-points."pegboard.settings"]\nacme = "acme"\n'
    )
    (folder / "src/acme/__init__.py").write_text(SOURCE)
    (folder / "src/acme/pegboard.toml").write_text(DECLARATION)
    environment.install("-e", folder)
    environment.settle(folder)
    assert environment.call("Show") == "5 calm []"
    assert environment.indexes()
    (folder / "src/acme/pegboard.toml").write_text(DECLARATION.replace("default = 5", "default = 6"))
    assert environment.call("Show") == "6 calm []"


def test_an_application_brings_settings_as_a_plain_dict(acme: Environment) -> None:
    acme.settings(acme={"limit": 7, "words": ["mine"]})
    source = """
import asyncio
from pegboard import Board, Call, Settings, SettingsError
board = Board.load(settings={"acme": {"limit": 3}, "disable": ["files"]})
assert isinstance(board.settings, Settings)
print(asyncio.run(board.dispatch(Call("1", "Show", {}))).text, board.pool.names)
try:
    Board.load(settings={"acme": {"limit": "three"}})
except SettingsError as error:
    print(error)
"""
    assert acme.code(source).stdout.splitlines() == [
        "3 calm ['mine'] ['Show']",
        'the application: acme.limit must be a whole number of 1 or more, got "three".',
    ]


def test_all_names_only_what_exists_and_says_what_to_install(environment: Environment) -> None:
    absent = environment.absent()
    assert set(absent) == {
        *("Agent", "ApplyPatch", "AskUserQuestion", "Bash", "Config", "Edit", "Glob", "Grep"),
        *("EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "LSP", "NotebookEdit", "REPL", "Skill"),
        *("TaskCreate", "TaskGet", "TaskList", "memory", "task_complete"),
        *("CronCreate", "CronDelete", "CronList", "Monitor", "Sleep"),
        *("TaskOutput", "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write"),
    }
    assert absent["Bash"]["reason"] == "pegboard-bash is not installed."
