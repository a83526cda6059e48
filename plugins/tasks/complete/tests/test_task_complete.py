"""Runs that go on until they are completed: real command lines with a played model, and what ends them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pegboard import Board, Call
from pegboard_cli.main import main
from pegboard_session import ReplayProvider, Session
from pegboard_testing.warm import warm

DONE = {"type": "tool_use", "name": "task_complete", "input": {"summary": "Two files fixed; **all** tests pass."}}
LIST = {"type": "tool_use", "name": "Glob", "input": {"pattern": "*"}}


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is tested with the sessions."""
    return "asyncio"


def turn(*blocks: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    made = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"content": made, **more}


@pytest.fixture
def play(tmp_path, monkeypatch, capsys):
    """`pegboard run --until-complete` with these turns of a model: the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(turns: list[dict[str, Any]], *words: str, until: bool = True) -> tuple[int, str]:
        (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, turns)))
        flags = ["--until-complete"] if until else []
        code = main(["run", "--replay", "script.jsonl", *flags, *words, "Fix it"])
        return code, capsys.readouterr().out

    return run


def as_data(played: tuple[int, str]) -> tuple[int, dict[str, Any]]:
    return played[0], json.loads(played[1])


def test_a_model_that_stops_is_reminded_and_the_run_ends_when_it_calls_task_complete(play):
    code, result = as_data(play([turn("I would begin with…"), turn(LIST), turn(DONE)], "--output-format", "json"))
    assert (code, result["stopped_by"], result["completed"], result["is_error"]) == (0, "completed", True, False)
    assert result["text"] == "Two files fixed; **all** tests pass."
    assert result["turns"] == 3, "nothing is asked after it"


def test_standard_output_has_the_summary_alone(play):
    assert play([turn("Looking.", LIST), turn("Now I am done.", DONE)]) == (0, "Two files fixed; **all** tests pass.\n")


def test_a_model_that_never_calls_it_is_given_up_after_three_reminders(play):
    code, result = as_data(play([turn("I cannot go on.")] * 9, "--output-format", "json"))
    assert (code, result["stopped_by"], result["completed"], result["turns"]) == (1, "not_completed", False, 4)


def test_work_in_between_makes_the_reminders_start_again(play):
    turns = [*[turn("Hm."), turn("Hm."), turn("Hm."), turn(LIST)] * 2, turn(DONE)]
    assert as_data(play(turns, "--output-format", "json"))[1]["turns"] == 9


LIMITS = [
    (["--max-turns", "2"], "max_turns", [turn(LIST)] * 9),
    (
        ["--max-cost", "0.5", "--model", "priced"],
        "cost_budget",
        [turn(LIST, usage={"input_tokens": 400_000, "output_tokens": 1})] * 9,
    ),
    (["--max-time", "1"], "time_budget", [turn("…", chunk_ms=600_000)]),
]


@pytest.mark.parametrize(("words", "stopped_by", "turns"), LIMITS)
def test_limits_end_the_run_as_not_completed(play, tmp_path, words, stopped_by, turns):
    (tmp_path / ".pegboard").mkdir()
    price = {"input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 1}
    (tmp_path / ".pegboard/settings.json").write_text(json.dumps({"prices": {"priced": price}}))
    code, result = as_data(play(turns, *words, "--output-format", "json"))
    assert (code, result["stopped_by"], result["completed"]) == (1, stopped_by, False)


def test_a_call_that_runs_when_the_time_is_used_up_is_cancelled(play):
    slow = {"type": "tool_use", "name": "Bash", "input": {"command": "sleep 600"}}
    words = ["--max-time", "2", "--allow", "Bash(sleep:*)", "--output-format", "stream-json"]
    code, printed = play([turn(slow), turn(DONE)], *words)
    events = [json.loads(line) for line in printed.splitlines()]
    (result,) = (event for event in events if event["type"] == "result")
    assert (code, result["stopped_by"], result["completed"]) == (1, "time_budget", False)
    assert any(event["type"] == "call_finished" and event["is_error"] for event in events)


def test_elsewhere_the_tool_is_not_there_and_says_why(play, tmp_path, capsys):
    code, result = as_data(play([turn(DONE), turn("Done.")], "--output-format", "json", until=False))
    assert (code, result["stopped_by"], "completed" in result) == (0, "end", False)
    assert result["usage"]["tools"]["task_complete"]["errors"] == 1
    gone = Board.load(cwd=tmp_path).pool.why_absent("task_complete")
    assert gone == "task_complete is there only where the setting complete.required is on."


def test_a_repository_cannot_make_a_run_go_on(tmp_path):
    (tmp_path / ".pegboard").mkdir()
    (tmp_path / ".pegboard/settings.json").write_text(json.dumps({"complete": {"required": True}}))
    assert Board.load(cwd=tmp_path).pool.get("task_complete") is None


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--until-complete", "--deny", "task_complete", "Go"], "needs the tool task_complete. The rule task_complete"),
        (["--until-complete", "--max-time", "0", "Go"], "--max-time must be 1 or more"),
        (["--until-complete", "--max-cost", "-1", "Go"], "--max-cost must be more than 0"),
        (["--until-complete", "--json-schema", "a.json", "Go"], "cannot be combined with --json-schema"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, monkeypatch, capsys, words, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.jsonl").write_text(json.dumps(turn(DONE)))
    try:
        code = main(["run", "--replay", "script.jsonl", *words])
    except SystemExit as stopped:
        code = stopped.code
    assert (code, reason in capsys.readouterr().err) == (2, True)


SUMMARIES = [
    ({}, "summary"),
    ({"summary": ""}, "summary"),
    ({"summary": "  \n"}, "summary is empty. Say"),
]


@pytest.mark.parametrize(("given", "words"), [*SUMMARIES, ({"summary": "x" * 20_001}, "summary")])
async def test_bad_input_gets_a_clear_error_and_the_run_goes_on(tmp_path, given, words):
    board = Board.load(settings={"complete": {"required": True}}, cwd=tmp_path)
    bad = {"type": "tool_use", "name": "task_complete", "input": given}
    played = ReplayProvider([turn(bad), turn(DONE)])
    async with Session(board, played, model="m") as session:
        outcome = await session.run("Go")
    assert outcome.stopped_by == "completed"
    assert words in json.dumps(played.requests[1].messages[-1])


async def test_an_agent_neither_has_it_nor_is_reminded(tmp_path):
    board = Board.load(settings={"complete": {"required": True}, "permissions": {"allow": ["Agent"]}}, cwd=tmp_path)
    start = {"type": "tool_use", "name": "Agent", "input": {"description": "Look", "prompt": "Look."}}
    kind = {"agent": "general-purpose"}
    played = ReplayProvider([turn(start), turn(DONE, **kind), turn("Seen.", **kind), turn(DONE)])
    async with Session(board, played, model="m") as session:
        outcome = await session.run("Go")
    (child,) = played.children
    assert (outcome.stopped_by, len(played.requests), len(child.requests)) == ("completed", 2, 2)
    assert "never given to sub-agents" in json.dumps(child.requests[1].messages)


async def test_outside_of_such_a_session_a_call_fails(tmp_path):
    board = Board.load(settings={"complete": {"required": True}}, cwd=tmp_path)
    result = await board.dispatch(Call("1", "task_complete", {"summary": "x"}))
    assert result.code == "unsupported"


async def test_the_rule_is_still_there_after_a_summary_and_a_resume(tmp_path):
    board = Board.load(settings={"complete": {"required": True}}, cwd=tmp_path)
    played = ReplayProvider([turn(LIST), turn(DONE), turn("<summary>We looked.</summary>"), turn("Hm."), turn(DONE)])
    async with Session(board, played, model="m") as session:
        await session.run("Go")
        await session.compact()
        assert (await session.run("Once more")).stopped_by == "completed"
    assert "then call task_complete" in "\n".join(played.requests[-1].system)


def test_a_program_that_drives_the_run_gets_the_summary(tmp_path):
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, [turn("Hm."), turn(DONE)])))
    formats = ["--input-format", "stream-json", "--output-format", "stream-json"]
    command = [sys.executable, "-m", "pegboard_cli", "run", "--replay", "script.jsonl", "--until-complete", *formats]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(warm(tmp_path))},
        input=json.dumps({"type": "prompt", "text": "Go"}) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    results = [json.loads(line) for line in done.stdout.splitlines() if '"type": "result"' in line]
    assert (done.returncode, [result["completed"] for result in results]) == (0, [True])


def test_the_readme_names_the_limits() -> None:
    text = Path(__file__).parents[1].joinpath("README.md").read_text()
    assert all(word in text for word in ("turns", "time", "tokens", "cost"))
