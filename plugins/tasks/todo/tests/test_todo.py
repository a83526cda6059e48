"""The task list of real sessions: its tools, and what is left of it after a crash, a resume, a fork and a summary."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from pegboard import Board, Call
from pegboard_session import ReplayProvider, Session, Transcript, restore

FIVE = {"TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TodoWrite"}


def script(*calls: tuple[str, dict[str, Any]], last: str = "Done.") -> list[dict[str, Any]]:
    """A model that makes these calls one after another."""
    turns = [{"content": [{"type": "tool_use", "name": name, "input": given}]} for name, given in calls]
    return [*turns, {"content": [{"type": "text", "text": last}]}]


def provider(*calls: tuple[str, dict[str, Any]]) -> ReplayProvider:
    return ReplayProvider(script(*calls))


async def use(session: Session, name: str, **given: Any) -> Any:
    return await session.board.dispatch(Call("1", name, given), session.ctx)


@pytest.fixture
async def session(board: Board):
    async with Session(board, provider(), model="m") as opened:
        yield opened


async def test_tasks_are_made_changed_listed_and_shown(session):
    assert (await use(session, "TaskList")).text == "There are no tasks."
    made = await use(session, "TaskCreate", subject="Write the parser", description="For dates.", activeForm="Writing")
    assert (made.text, made.value.id) == ("Created task 1: Write the parser", "1")
    await use(session, "TaskCreate", subject="Test it", metadata={"size": "S"})
    waits = await use(session, "TaskUpdate", taskId="2", addBlockedBy=["1"], status="in_progress", owner="tester")
    assert waits.text == ("Updated task 2: Test it (pending -> in_progress)\n(It waits for 1, not completed yet.)")
    assert waits.value.updated_fields == ["add_blocked_by", "owner", "status"]
    listed = await use(session, "TaskList")
    assert listed.text == "[ ] 1. Write the parser\n[>] 2. Test it (owner: tester) (waits for 1)"
    shown = await use(session, "TaskGet", taskId="1")
    assert shown.text == "Task 1: Write the parser\nstatus: pending\nblocks: 2\nFor dates."
    await use(session, "TaskUpdate", taskId="1", status="completed")
    assert "waits for" not in (await use(session, "TaskList")).text
    assert (await use(session, "TaskUpdate", taskId="1", status="deleted")).text == "Deleted task 1: Write the parser"
    assert (await use(session, "TaskGet", taskId="2")).value.task.blocked_by == []


async def test_metadata_is_merged_and_null_removes_a_key(session):
    await use(session, "TaskCreate", subject="a", metadata={"x": 1, "y": 2})
    changed = await use(session, "TaskUpdate", taskId="1", metadata={"x": None, "z": 3})
    assert changed.value.task.metadata == {"y": 2, "z": 3}


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("TaskGet", {"taskId": "9"}, "There is no task '9'. The ids are: 1, 2."),
        ("TaskUpdate", {"taskId": "9", "status": "completed"}, "There is no task '9'."),
        ("TaskUpdate", {"taskId": "1"}, "there is nothing to change."),
        ("TaskUpdate", {"taskId": "1", "status": "done"}, "status"),
        ("TaskUpdate", {"taskId": "1", "addBlockedBy": ["9"]}, "There is no task '9'."),
        ("TaskUpdate", {"taskId": "1", "addBlocks": ["1"]}, "Task 1 cannot wait for task 1"),
        ("TaskUpdate", {"taskId": "1", "subject": "new", "addBlockedBy": ["2"]}, "Task 1 cannot wait for task 2"),
        ("TaskCreate", {"subject": ""}, "subject"),
        ("TaskCreate", {"subject": "x" * 501}, "subject"),
        ("TaskCreate", {"subject": "x", "metadata": {"a": "b" * 20_000}}, "metadata is longer than 10,000 characters."),
        ("TodoWrite", {"todos": [{"content": "", "status": "pending"}]}, "todos"),
        ("TodoWrite", {"todos": [{"content": "a", "status": "later"}]}, "todos"),
    ],
)
async def test_bad_input_gets_a_clear_error_and_nothing_is_lost(session, name, given, words):
    await use(session, "TaskCreate", subject="one")
    await use(session, "TaskCreate", subject="two")
    await use(session, "TaskUpdate", taskId="1", addBlocks=["2"])
    before = (await use(session, "TaskList")).text
    result = await use(session, name, **given)
    assert result.is_error
    assert words in result.text
    assert (await use(session, "TaskList")).text == before


async def test_there_is_a_limit(session):
    session.ctx.service("tasks").replace_written([{"subject": str(number)} for number in range(500)])
    result = await use(session, "TaskCreate", subject="one more")
    assert (result.code, result.text) == (
        "too_large",
        "A session can have at most 500 tasks. Delete completed ones first.",
    )


async def test_metadata_does_not_grow_over_its_limit_piece_by_piece(session):
    await use(session, "TaskCreate", subject="a", metadata={"x": "1" * 9_000})
    refused = await use(session, "TaskUpdate", taskId="1", metadata={"y": "2" * 9_000}, status="completed")
    assert (refused.code, "With what task 1 has already, metadata is longer than 10,000" in refused.text) == (
        "too_large",
        True,
    )
    kept = (await use(session, "TaskGet", taskId="1")).value.task
    assert (list(kept.metadata), kept.status) == (["x"], "pending")
    swapped = await use(session, "TaskUpdate", taskId="1", metadata={"x": None, "y": "2" * 9_000})
    assert list(swapped.value.task.metadata) == ["y"]


async def test_todo_write_replaces_its_own_list_only(session):
    await use(session, "TaskCreate", subject="kept")
    first = [
        {"content": "a", "status": "completed", "activeForm": "Doing a"},
        {"content": "b", "status": "in_progress"},
    ]
    done = await use(session, "TodoWrite", todos=first)
    assert done.text == "The to-do list has 2 items, 1 completed:\n[x] 2. a\n[>] 3. b"
    again = await use(session, "TodoWrite", todos=[{"content": "c", "status": "pending"}])
    assert [todo.content for todo in again.value.old_todos] == ["a", "b"]
    assert (await use(session, "TaskList")).text == "[ ] 1. kept\n[ ] 4. c"
    assert (await use(session, "TodoWrite", todos=[])).text == "The to-do list is now empty."


async def test_outside_a_session_there_is_no_list(board, ctx):
    result = await board.dispatch(Call("1", "TaskList", {}), ctx)
    assert (result.code, "is not part of a session" in result.text) == ("unsupported", True)


async def test_a_resumed_session_goes_on_with_the_list_and_its_ids(board, tmp_path):
    path = tmp_path / "s.jsonl"
    calls = [("TaskCreate", {"subject": "one"}), ("TaskCreate", {"subject": "two"})]
    async with Session(board, provider(*calls), model="m", transcript=Transcript(path)) as first:
        await first.run("Go")
        await use(first, "TaskUpdate", taskId="2", status="deleted")
    second = Session(board, provider(), model="m", transcript=Transcript(path))
    second.resume(restore(path), second.ctx)
    async with second:
        assert (await use(second, "TaskList")).text == "[ ] 1. one"
        assert (await use(second, "TaskCreate", subject="three")).value.id == "3", "an id is never used twice"


@pytest.mark.parametrize("next_id", ["null", '"x"', "1e999", "[]"])
async def test_what_makes_no_sense_in_a_transcript_is_left_out(board, tmp_path, next_id):
    path = tmp_path / "s.jsonl"
    async with Session(
        board, provider(("TaskCreate", {"subject": "one"})), model="m", transcript=Transcript(path)
    ) as s:
        await s.run("Go")
    rows = f'[{{"id":"1","subject":"one"}},5,{{"id":"{"9" * 5000}","subject":"long"}}]'
    with path.open("a") as file:
        file.write(f'{{"type":"tasks","tasks":{rows},"next":{next_id}}}\n')
    second = Session(board, provider(), model="m", transcript=Transcript(path))
    second.resume(restore(path), second.ctx)
    async with second:
        assert (await use(second, "TaskList")).text.startswith("[ ] 1. one\n")
        assert (await use(second, "TaskCreate", subject="two")).value.id == "2"


HOST = """
import sys, anyio
from pathlib import Path
from pegboard import Board, Call
from pegboard_session import ReplayProvider, Session, Transcript

async def main():
    board = Board.load(cwd=Path(sys.argv[1]))
    path = Path(sys.argv[1]) / "s.jsonl"
    async with Session(board, ReplayProvider([]), model="m", transcript=Transcript(path)) as session:
        for number in range(1000):
            await board.dispatch(Call("1", "TaskCreate", {"subject": f"task {number}"}), session.ctx)
            print(number, flush=True)
anyio.run(main)
"""


def test_the_list_is_whole_after_a_kill(tmp_path, board):
    host = subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert host.stdout
    told = [host.stdout.readline() for _ in range(20)]
    os.kill(host.pid, signal.SIGKILL)
    rest = host.communicate()[0]
    said = len(told) + rest.count("\n")
    lines = [line for line in restore(tmp_path / "s.jsonl").lines if line["type"] == "tasks"]
    assert said <= len(lines[-1]["tasks"]) <= said + 1
    assert [task["subject"] for task in lines[-1]["tasks"]] == [f"task {n}" for n in range(len(lines[-1]["tasks"]))]


async def test_the_model_is_reminded_of_open_tasks_that_nobody_touches(board, tmp_path):
    calls = [("TaskCreate", {"subject": "one"}), *[("TaskList", {})] * 30]
    played = provider(*calls)
    async with Session(board, played, model="m") as session:
        await session.run("Go")
    last = json.dumps(played.requests[-1].messages)
    assert last.count("The task list has not changed for a while.") == 2, "once in every twelve messages"
    assert "[ ] 1. one" in last


async def test_a_summary_is_followed_by_the_list(board):
    summary = {"content": [{"type": "text", "text": "<summary>We made tasks.</summary>"}]}
    turns = [*script(("TaskCreate", {"subject": "one"}), last="x"), summary, *script(last="Bye.")]
    played = ReplayProvider(turns)
    async with Session(board, played, model="m") as session:
        await session.run("Go")
        await session.compact()
        await session.run("And now?")
    sent = json.dumps(played.requests[-1].messages)
    assert "We made tasks." in sent
    assert "The task list of this session:\\n[ ] 1. one" in sent


async def test_a_sub_agent_shares_the_list(board):
    turns = [
        {"content": [{"type": "tool_use", "name": "TaskCreate", "input": {"subject": "shared"}}]},
        {"content": [{"type": "tool_use", "name": "Agent", "input": {"description": "Work", "prompt": "Do task 1."}}]},
        {
            "agent": "general-purpose",
            "content": [{"type": "tool_use", "name": "TaskUpdate", "input": {"taskId": "1", "status": "completed"}}],
        },
        {"agent": "general-purpose", "content": [{"type": "text", "text": "Done."}]},
        {"content": [{"type": "text", "text": "Done."}]},
    ]
    async with Session(board, ReplayProvider(turns), model="m") as session:
        await session.run("Go")
        assert [task.status for task in session.ctx.service("tasks").all()] == ["completed"]


@pytest.mark.parametrize(("model", "has_them"), [("claude-sonnet-4-5", True), ("claude-opus-5-5", False)])
async def test_models_that_plan_alone_do_not_get_the_tools(board, model, has_them):
    played = provider()
    async with Session(board, played, model=model) as session:
        await session.run("Go")
    names = {definition["name"] for definition in played.requests[0].tools}
    assert (names >= FIVE, names.isdisjoint(FIVE)) == (has_them, not has_them)
