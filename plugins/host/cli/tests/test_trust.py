"""`pegboard trust`, `--trust`, and the question that `run` asks before it acts on what a repository says."""

import importlib.util
import json
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("asking_world", Path(__file__).with_name("test_asking.py"))
assert spec
assert spec.loader
asking = importlib.util.module_from_spec(spec)
spec.loader.exec_module(asking)
world = asking.world
Terminal = asking.Terminal

LOOSE = {"permissions": {"allow": ["Edit(a.txt)"], "deny": ["Read(.env)"]}}
WRITE = ("call", "Write", "file_path=a.txt", "content=x")


@pytest.fixture
def project(world):
    (world.work / ".git").mkdir()
    (world.work / ".pegboard").mkdir()
    (world.work / ".pegboard/settings.json").write_text(json.dumps(LOOSE))
    return world


def test_trust_is_given_shown_and_taken_back(project):
    assert project.quietly(*WRITE).returncode == 3
    done = project.quietly("trust")
    assert done.stdout.startswith(f"{project.work} is trusted.\n")
    assert 'now used: permissions.allow = ["Edit(a.txt)"]' in done.stdout
    assert project.quietly(*WRITE).returncode == 0
    assert [row["root"] for row in json.loads(project.quietly("trust", "list", "--json").stdout)] == [str(project.work)]
    assert str(project.work) in project.quietly("trust", "list").stdout
    assert "no longer trusted" in project.quietly("trust", "--revoke").stdout
    assert project.quietly(*WRITE).returncode == 3
    assert json.loads(project.quietly("trust", "--revoke", "--json").stdout)["changed"] is False
    assert project.quietly("trust", "list").stdout == "No project is trusted.\n"


def test_an_option_trusts_for_one_command(project):
    assert project.quietly(*WRITE, "--trust").returncode == 0
    assert project.quietly(*WRITE).returncode == 3


def test_a_folder_of_the_project_stands_for_it(project):
    (project.work / "sub").mkdir()
    project.quietly("trust", "sub")
    assert project.quietly(*WRITE).returncode == 0


def test_a_folder_that_is_not_there_is_a_mistake(project):
    done = project.quietly("trust", "nowhere")
    assert done.returncode == 2
    assert "there is no folder" in done.stderr


def replay(project):
    block = {"type": "tool_use", "name": "Write", "input": {"file_path": "a.txt", "content": "x"}}
    turns = [{"content": [block]}, {"content": [{"type": "text", "text": "done"}]}]
    (project.home / "script.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return ["run", "--replay", str(project.home / "script.jsonl"), "Go"]


def test_run_asks_on_a_terminal_and_shows_what_waits_for_trust(project):
    terminal = Terminal(replay(project), project.work, project.env)
    shown = terminal.until("Trust this project? [y/N] ")
    assert 'permissions.allow = ["Edit(a.txt)"]' in shown
    assert str(project.work) in shown
    terminal.type("y")
    assert terminal.end()[0] == 0
    assert (project.work / "a.txt").exists()
    assert project.quietly(*WRITE).returncode == 0, "the answer is remembered"


def test_run_without_trust_goes_on_with_what_restricts(project):
    terminal = Terminal(replay(project), project.work, project.env)
    terminal.until("Trust this project? [y/N] ")
    terminal.type("n")
    terminal.until("Run it?")
    terminal.type("n")
    terminal.end()
    assert not (project.work / "a.txt").exists()


def test_run_does_not_ask_where_nothing_waits_for_trust(world):
    terminal = Terminal(replay(world), world.work, world.env)
    before = terminal.until("Run it?")
    assert "Trust" not in before
    terminal.type("n")
    terminal.end()


def test_a_run_that_nobody_watches_is_untrusted_unless_told(project):
    assert project.quietly(*replay(project)).returncode == 0
    assert not (project.work / "a.txt").exists()
    project.quietly(*replay(project), "--trust")
    assert (project.work / "a.txt").exists()


def test_doctor_names_rule_problems_with_file_and_line(world):
    (world.home / ".pegboard").mkdir()
    path = world.home / ".pegboard/settings.json"
    path.write_text('{\n "permissions": {\n  "deny": [\n   "Read(.env)",\n   "Raed(x)"\n  ]\n }\n}')
    done = world.quietly("doctor")
    assert done.returncode == 1
    assert f"rules: {path}:5: deny rule Raed(x): There is no tool 'Raed'. Did you mean 'Read'?" in done.stdout


def test_doctor_names_an_audit_log_that_cannot_be_written(world):
    (world.home / ".local").write_text("in the way")
    done = world.quietly("doctor")
    assert done.returncode == 1
    assert "Decisions are not recorded." in done.stdout
