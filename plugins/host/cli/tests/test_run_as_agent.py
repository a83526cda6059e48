"""`pegboard run --agent`: the person's own session with the instructions, tools and limits of an agent."""

import json
import os
import subprocess
import sys

import pytest

from pegboard_testing.warm import warm

DEFINITION = """---
name: reviewer
description: Reads a change.
tools: Read, Grep
permissionMode: plan
maxTurns: 2
---
You review.
"""


def used(name, **given):
    return {"content": [{"type": "tool_use", "name": name, "input": given}]}


@pytest.fixture
def run(tmp_path):
    """The lines of a session as JSON, and how it ended."""
    home, work = tmp_path / "home", tmp_path / "work"
    (home / ".pegboard/agents").mkdir(parents=True)
    (home / ".pegboard/agents/reviewer.md").write_text(DEFINITION)
    work.mkdir()
    (work / "a.txt").write_text("one\n")

    def play(agent, *turns, more=()):
        script = tmp_path / "script.jsonl"
        script.write_text("\n".join(json.dumps(turn) for turn in turns))
        chosen = [] if agent is None else ["--agent", agent]
        words = ["run", "go", *chosen, "--replay", str(script), "--output-format", "stream-json", *more]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD_", "XDG_"))}
        done = subprocess.run(
            [sys.executable, "-m", "pegboard_cli", *words],
            cwd=work,
            env={**env, "HOME": str(warm(home))},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    return play


def finished(lines):
    return {line["name"]: line for line in lines if line["type"] == "call_finished"}


def test_the_session_has_the_tools_of_the_agent_and_no_others(run):
    bye = {"content": [{"type": "text", "text": "Done."}]}
    both = {"content": [*used("Read", file_path="a.txt")["content"], *used("Bash", command="true")["content"]]}
    done, lines = run("reviewer", both, bye)
    assert done.returncode == 0, done.stderr
    calls = finished(lines)
    assert not calls["Read"]["is_error"]
    refused = "Bash is not among the tools of the agent reviewer, which may use Read, Grep."
    assert calls["Bash"]["said"] == refused


def test_the_limits_of_the_definition_hold(run):
    done, lines = run("reviewer", *[used("Read", file_path="a.txt")] * 3)
    [result] = [line for line in lines if line["type"] == "result"]
    assert (done.returncode, result["stopped_by"], result["turns"]) == (1, "max_turns", 2)


def test_a_built_in_agent_can_be_talked_to(run):
    done, _ = run("Explore", {"content": [{"type": "text", "text": "Here."}]})
    assert done.returncode == 0, done.stderr


def test_an_unknown_agent_is_a_mistake_with_a_hint(run):
    done, _ = run("reviwer")
    names = "Explore, Plan, general, general-purpose, reviewer"
    said = f"There is no agent 'reviwer'. Did you mean 'reviewer'? The agents here are: {names}."
    assert (done.returncode, done.stderr.strip()) == (2, f"pegboard: {said}")


def test_no_name_is_not_any_agent(run):
    done, _ = run("")
    assert (done.returncode, "There is no agent ''." in done.stderr) == (2, True)


def test_a_session_that_is_resumed_is_still_that_agent(run):
    bye = {"content": [{"type": "text", "text": "Done."}]}
    run("reviewer", bye)
    done, lines = run(None, used("Bash", command="true"), bye, more=["--resume"])
    assert done.returncode == 0, done.stderr
    assert "is not among the tools of the agent reviewer" in finished(lines)["Bash"]["said"]
