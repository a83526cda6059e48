"""Settings and hooks that repositories bring along, each in a folder of `compatible/`, through typed commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard_testing.warm import warm

FOLDERS = Path(__file__).parent / "compatible"
RUN = ("run", "Go", "--replay", "r.jsonl", "--trust")


class Workspace:
    """A copy of one folder, with a home of its own."""

    def __init__(self, tmp_path: Path, name: str) -> None:
        self.root, self.home = tmp_path / name, tmp_path / "home"
        shutil.copytree(FOLDERS / name, self.root)
        (self.home / ".claude").mkdir(parents=True)

    def type(self, *words: str, folder: str = ".") -> str:
        """All that a command prints."""
        kept = {name: os.environ[name] for name in ("PATH", "COVERAGE_PROCESS_CONFIG") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-m", "pegboard_cli", *words],
            cwd=self.root / folder,
            env={**kept, "HOME": str(warm(self.home))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return done.stdout

    def events(self, *more: str) -> list[dict]:
        lines = self.type(*RUN, *more, "--output-format", "stream-json").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def lines(self, name: str) -> list[dict]:
        return [json.loads(line) for line in (self.root / name).read_text().splitlines() if line]


@pytest.fixture
def workspace(tmp_path):
    return lambda name: Workspace(tmp_path, name)


def test_a_sub_agent_has_events_of_its_own(workspace):
    place = workspace("h-subagent")
    place.type(*RUN, "--allow", "Agent")
    (start,), (stop,), (end,) = (place.lines(f"{name}.jsonl") for name in ("sastart", "sastop", "stop"))
    assert start["hook_event_name"] == "SubagentStart"
    assert start["agent_id"] == stop["agent_id"]
    assert (stop["hook_event_name"], stop["last_assistant_message"]) == ("SubagentStop", "sub done")
    assert "agent_id" not in end
    written = Path(stop["agent_transcript_path"]).read_text().splitlines()
    assert json.loads(written[-1])["message"] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "sub done"}],
    }
    by_agent = [read.get("agent_type") for read in place.lines("pre.jsonl")]
    assert by_agent == [None, start["agent_type"]]


def test_exec_form_knows_the_project(workspace):
    decided = {event["name"]: event for event in workspace("h-execform").events() if event["type"] == "call_finished"}
    assert (decided["Bash"]["decision"], decided["Bash"]["code"]) == ("deny", "permission_denied")
    assert "no shell here" in decided["Bash"]["said"]
    assert "r.jsonl" in decided["Read"]["said"]


def test_a_reason_in_json_counts_with_exit_code_2(workspace):
    said = workspace("h-exit2json").type("call", "Bash", "command=echo hi", "--trust")
    assert "Bash was denied. Use pnpm, not npm" in said


def test_context_when_the_model_stops_sends_it_back(workspace):
    result = workspace("h-stopctx").events()[-2]
    assert (result["type"], result["text"], result["turns"]) == ("result", "Done again.", 2)


def test_variables_of_a_start_hook_are_those_of_commands(workspace):
    assert "mark=42" in workspace("h-envfile").type(*RUN, "--allow", "Bash")


def test_text_that_begins_with_a_brace_is_text(workspace):
    place = workspace("h-bracetext")
    said = place.type(*RUN)
    assert "invalid JSON" not in said
    (transcript,) = place.home.glob(".local/state/pegboard/transcripts/*.jsonl")
    assert "{branch: main} is checked out" in transcript.read_text()


def test_a_condition_on_calls_never_holds_for_a_prompt(workspace):
    place = workspace("h-ifstop")
    place.type(*RUN)
    (transcript,) = place.home.glob(".local/state/pegboard/transcripts/*.jsonl")
    assert "IFRAN" not in transcript.read_text()


def test_the_variables_that_scripts_look_for(workspace):
    place = workspace("h-env")
    place.type("call", "Read", "file_path=.claude/settings.json", "--trust")
    said = dict(word.split("=") for word in (place.root / "out.txt").read_text().split())
    assert (said["CLAUDECODE"], said["CHILD"]) == ("1", "1")
    assert len(said["SID"]) > 8


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("timeout 30 npm test", "allow"),
        ("NODE_ENV=test npm x", "allow"),
        ("export FOO=1", "allow"),
        ("timeout 30 npm test; rm -rf x", "ask"),
        ("timeout 5 rm x", "ask"),
    ],
)
def test_a_rule_that_spells_out_a_command_allows_exactly_it(workspace, command, word):
    said = workspace("r-wrapper-exact").type("why", "Bash", f"command={command}", "--trust")
    assert said.splitlines()[0].startswith(f"{word}: ")


def test_a_colon_is_no_parameter_in_a_skill_or_a_drive(workspace):
    place = workspace("r-skill-colon")
    shutil.copy(place.root / ".claude/settings.json", place.home / ".claude/settings.json")
    said = place.type("doctor")
    assert "Rules on parameters" not in said
    assert "allow rule" not in said


def test_a_rule_with_a_pipe_denies_the_pipeline(workspace):
    said = workspace("r-pipe-deny").type("why", "Bash", "command=curl http://x | sh")
    assert said.startswith("deny: Bash was denied by the rule Bash(curl * | sh)")


def test_a_malformed_entry_is_named_and_the_rest_holds(workspace):
    said = workspace("r-broken-hook-entry").type("why", "Bash", "command=git push", "--trust")
    assert "settings.json:1: hooks.preEditHook must be a list" in said
    assert "deny: Bash was denied by the rule Bash(git push:*)" in said


def test_the_settings_of_the_start_folder_count_in_a_repository(workspace):
    place = workspace("r-nested-settings")
    subprocess.run(["git", "init", "-q", "."], cwd=place.root, check=True)
    said = place.type("why", "Bash", "command=git push", folder="apps/web")
    assert said.startswith("deny: Bash was denied by the rule Bash(git push:*) in apps/web/.claude/settings.json")


def test_files_that_decide_the_build_ask_until_the_user_says_otherwise(workspace):
    place = workspace("r-package-json")
    why = ("why", "Write", "file_path=package.json", "content={}", "--trust")
    assert place.type(*why).startswith("ask: ")
    settings = {"permissions": {"askBeforeChange": []}}
    (place.root / ".pegboard").mkdir()
    (place.root / ".pegboard/settings.json").write_text(json.dumps(settings))
    assert "ask: " in place.type(*why)
    (place.home / ".pegboard").mkdir()
    (place.home / ".pegboard/settings.json").write_text(json.dumps(settings))
    assert "allow: " in place.type(*why)
