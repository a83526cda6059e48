"""Timers in real sessions: what wakes a sleep, when prompts come, what a person must approve, what is kept."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Allow, Board, Call, Deny, Question, ToolError, hookimpl
from pegboard_schedule.durable import DurableSchedules
from pegboard_schedule.schedule import Wanted
from pegboard_schedule.schedules import Schedules
from pegboard_session import ReplayProvider, Session, Transcript, restore

DAILY = {"cron": "0 9 * * *", "prompt": "Look at the build."}


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is tested with the sessions."""
    return "asyncio"


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)


def called(*calls: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": name, "input": given} for name, given in calls], **more}


def played(*turns: dict[str, Any]) -> ReplayProvider:
    return ReplayProvider([*turns, {"content": [{"type": "text", "text": "Done."}]}])


class Person:
    """Answers every question in the same way, and remembers it."""

    def __init__(self, *, agrees: bool) -> None:
        self.agrees, self.asked = agrees, list[str]()

    @hookimpl
    def ask_user(self, question: Question) -> Allow | Deny:
        self.asked.append(question.description)
        return Allow("Yes.", layer="ask") if self.agrees else Deny("No.")


def board_at(folder: Path, *plugins: Any, **settings: Any) -> Board:
    return Board.load(cwd=folder, plugins=plugins, settings=settings)


def said(provider: ReplayProvider, request: int = -1) -> str:
    return json.dumps(provider.requests[request].messages[-1])


class MovedClock:
    """The real clock, moved forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    async def wait(self, until: datetime | None) -> None:
        await anyio.sleep(0.01)


async def test_a_sleep_ends_when_a_background_task_does_and_the_news_follows(tmp_path):
    start = ("Bash", {"command": "echo built", "run_in_background": True})
    provider = played(called(start), called(("Sleep", {"seconds": 600, "reason": "the build"})))
    board = board_at(tmp_path, permissions={"allow": ["Bash"]})
    async with Session(board, provider, model="m") as session:
        outcome = await session.run("Go")
    assert (outcome.text, outcome.turns) == ("Done.", 3)
    assert "There is news: it follows." in said(provider)
    assert "(echo built) is done: it exited with code 0" in said(provider, -1) + said(provider, -2)


async def test_a_sleep_ends_with_its_time_or_with_an_interrupt(tmp_path):
    provider = played(called(("Sleep", {"seconds": 0.05})), called(("Sleep", {"seconds": 600})))
    async with Session(board_at(tmp_path), provider, model="m") as session, anyio.create_task_group() as group:

        async def interrupt() -> None:
            async for event in session.events():
                if event.kind == "call_progress" and "600 s" in event.data["message"]:
                    session.interrupt()
                    return

        group.start_soon(interrupt)
        outcome = await session.run("Go")
    assert outcome.stopped_by == "interrupted"
    assert "The time is over." in said(provider)


async def test_a_sleeping_agent_is_woken_by_its_own_news(tmp_path):
    agent = ("Agent", {"description": "Wait", "prompt": "Wait."})
    start = ("Bash", {"command": "true", "run_in_background": True})
    kind = {"agent": "general-purpose"}
    turns = [
        called(agent),
        called(start, **kind),
        called(("Sleep", {"seconds": 600}), **kind),
        called(("CronCreate", DAILY), **kind),
        {"content": [{"type": "text", "text": "Woken."}], **kind},
    ]
    provider = played(*turns)
    board = board_at(tmp_path, permissions={"allow": ["Bash", "Agent"]})
    async with Session(board, provider, model="m") as session:
        assert (await session.run("Go")).stopped_by == "end"
    (child,) = provider.children
    assert "There is news" in json.dumps(child.requests[2].messages[-1])
    assert "never given to sub-agents" in json.dumps(child.requests[3].messages[-1])


async def test_a_schedule_that_is_due_wakes_a_sleep_and_its_prompt_follows(tmp_path):
    clock = MovedClock()
    provider = played(called(("CronCreate", DAILY)), called(("Sleep", {"seconds": 600})))
    async with Session(board_at(tmp_path), provider, model="m") as session:
        schedules = session.ctx.service("schedules")
        schedules.clock = clock
        async with anyio.create_task_group() as group:

            async def go_on() -> None:
                async for event in session.events():
                    if event.kind == "call_progress":
                        clock.ahead = timedelta(days=1, hours=1)
                        return

            group.start_soon(go_on)
            assert (await session.run("Go")).text == "Done."
        assert len(schedules.all()) == 1, "it comes back"
    assert "A schedule is due: its prompt follows." in said(provider)
    assert "Look at the build." in said(provider)
    assert "<system-reminder>" in said(provider)


async def test_what_became_due_while_the_session_was_idle_comes_with_the_next_prompt(tmp_path):
    clock = MovedClock()
    provider = ReplayProvider(
        [called(("CronCreate", {**DAILY, "recurring": False})), *[{"content": [{"type": "text", "text": "Done."}]}] * 3]
    )
    async with Session(board_at(tmp_path), provider, model="m") as session:
        session.ctx.service("schedules").clock = clock
        await session.run("Go")
        clock.ahead = timedelta(days=2)
        await session.run("Hello")
        assert "and late):" in said(provider)
        await session.run("Again")
    assert "Scheduled prompt" not in json.dumps(provider.requests[-1].messages[-1])


async def test_schedules_come_back_after_a_summary_and_in_a_resumed_session(tmp_path):
    path, board = tmp_path / "s.jsonl", board_at(tmp_path)
    provider = ReplayProvider(
        [
            called(("CronCreate", DAILY)),
            *[{"content": [{"type": "text", "text": "<summary>All is well.</summary>"}]}] * 3,
        ]
    )
    async with Session(board, provider, model="m", transcript=Transcript(path)) as first:
        await first.run("Go")
        (made,) = first.ctx.service("schedules").all()
        await first.compact()
        assert made.id in json.dumps(first.messages)
    second = Session(board, played(called(("CronDelete", {"id": made.id}))), model="m", transcript=Transcript(path))
    second.resume(restore(path), second.ctx)
    async with second:
        assert second.ctx.service("schedules").all() == [made]
        await second.run("Delete it")
    third = Session(board, played(), model="m")
    third.resume(restore(path), third.ctx)
    async with third:
        assert third.ctx.service("schedules").all() == []


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions", "plan"])
async def test_a_durable_schedule_is_put_to_the_person_in_every_mode(tmp_path, mode):
    refusing, agreeing = Person(agrees=False), Person(agrees=True)
    for person in (refusing, agreeing):
        board = board_at(tmp_path, person, permissions={"allow": ["CronCreate"]})
        async with Session(board, played(), model="m") as session:
            ctx = replace(session.ctx, mode=mode)
            result = await board.dispatch(Call("1", "CronCreate", {**DAILY, "durable": True}), ctx)
            assert result.is_error is (person is refusing)
            assert person.asked == ["Keep the durable schedule 0 9 * * *: Look at the build."]
            assert len(session.ctx.service("schedules").all()) == (0 if person is refusing else 1)


async def test_without_a_person_no_durable_schedule_is_made(tmp_path):
    board = board_at(tmp_path, permissions={"allow": ["CronCreate", "CronDelete"]})
    async with Session(board, played(), model="m") as session:
        for mode in ("default", "dontAsk"):
            ctx = replace(session.ctx, mode=mode)
            result = await board.dispatch(Call("1", "CronCreate", {**DAILY, "durable": True}), ctx)
            assert result.code == "permission_denied"
        assert session.ctx.service("schedules").all() == []


async def test_durable_schedules_are_kept_for_the_project_in_a_private_file(tmp_path):
    board = board_at(tmp_path, Person(agrees=True))
    async with Session(board, played(called(("CronCreate", {**DAILY, "durable": True}))), model="m") as first:
        await first.run("Go")
    file = DurableSchedules.of(str(tmp_path)).file
    assert (file.stat().st_mode & 0o777, file.is_relative_to(tmp_path / "home/.local/state")) == (0o600, True)
    async with Session(board, played(called(("CronList", {}))), model="m") as second:
        await second.run("Go")
        (kept,) = second.ctx.service("schedules").all()
        assert second.ctx.service("schedules").next_due() is None, "only a process that serves them runs them"
        result = await board.dispatch(Call("1", "CronDelete", {"id": kept.id}), second.ctx)
        assert result.text == f"Schedule {kept.id} (0 9 * * *) is deleted."
        assert second.ctx.service("schedules").all() == []


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"root": "/elsewhere", "schedules": []}', '{"schedules": [1]}'])
async def test_a_file_that_is_broken_is_reported_and_left_as_it_is(tmp_path, text):
    kept = DurableSchedules.of(str(tmp_path))
    kept.file.parent.mkdir(parents=True)
    kept.file.write_text(text)
    os.chmod(kept.file, 0o600)
    board = board_at(tmp_path, Person(agrees=True))
    async with Session(board, played(), model="m") as session:
        for name, given in (("CronList", {}), ("CronCreate", {**DAILY, "durable": True})):
            result = await board.dispatch(Call("1", name, given), session.ctx)
            assert f"The durable schedules in {kept.file} cannot be used" in result.text
        assert not (await board.dispatch(Call("1", "CronCreate", DAILY), session.ctx)).is_error
    assert kept.file.read_text() == text


FORGED = [
    {"durable": False},
    {"cron": "zz"},
    {"timezone": "No/Such"},
    {"due": "0001-01-01T00:00:00Z", "timezone": "America/New_York"},
    {"due": "9999-12-31T23:59:59Z", "timezone": "Asia/Tokyo"},
]
ONCE = {"id": "0000000a", "due": "2020-01-01T00:00:00Z", "recurring": False, "durable": True}


@pytest.mark.parametrize("changed", [*FORGED, None], ids=str)
def test_rows_that_were_never_written_so_are_refused_before_anything_runs(tmp_path, changed):
    kept = DurableSchedules.of(str(tmp_path))
    kept.file.parent.mkdir(parents=True)
    rows = "[" * 100_000 if changed is None else json.dumps([{**DAILY, **ONCE, **changed}])
    kept.file.write_text(f'{{"root": {json.dumps(kept.root)}, "schedules": {rows}}}')
    schedules = Schedules(durable=kept)
    with schedules.serving(), pytest.raises(ToolError, match=r"cannot be used: .*Repair the file or delete it"):
        schedules.take_due()


@pytest.mark.parametrize("changed", [{"durable": True}, *FORGED[1:]], ids=str)
def test_rows_of_a_transcript_that_make_no_sense_are_left_out(changed):
    schedules = Schedules()
    schedules.load(
        [{**DAILY, **ONCE, "durable": False, **changed}, {**DAILY, **ONCE, "id": "0000000b", "durable": False}]
    )
    assert [found.id for found in schedules.own()] == ["0000000b"]
    assert schedules.take_due()
    assert schedules.take_due() is None


async def test_a_file_that_others_can_write_and_a_link_are_not_believed(tmp_path):
    kept = DurableSchedules.of(str(tmp_path))
    board = board_at(tmp_path)
    async with Session(board, played(), model="m") as session:
        session.ctx.service("schedules").add(Wanted(**DAILY, durable=True))
        assert len(kept.all()) == 1
        os.chmod(kept.file, 0o666)
        assert "does not belong to you alone" in (await board.dispatch(Call("1", "CronList", {}), session.ctx)).text
        kept.file.rename(tmp_path / "moved")
        kept.file.symlink_to(tmp_path / "moved")
        assert "cannot be used" in (await board.dispatch(Call("1", "CronList", {}), session.ctx)).text


BAD = [
    ("Sleep", {"seconds": 0}, "seconds"),
    ("Sleep", {"seconds": -1}, "seconds"),
    ("Sleep", {"seconds": 1e9}, "seconds is 1e+09, and at most 3600 are allowed"),
    ("Sleep", {}, "seconds"),
    ("CronCreate", {"cron": "every day", "prompt": "x"}, "has 2 fields. It needs five"),
    ("CronCreate", {"cron": "0 25 * * *", "prompt": "x"}, "the hour is not valid"),
    ("CronCreate", {"cron": "0 9 * * *", "prompt": " "}, "prompt is empty"),
    ("CronCreate", {"cron": "0 9 * * *", "prompt": "x" * 10_001}, "prompt"),
    ("CronCreate", {**DAILY, "timezone": "Nowhere/Land"}, "'Nowhere/Land' is not a time zone"),
    ("CronDelete", {"id": "12345678"}, "There is no schedule '12345678'. The ids are: none."),
]


@pytest.mark.parametrize(("name", "given", "words"), BAD)
async def test_bad_input_gets_the_documented_error(tmp_path, name, given, words):
    board = board_at(tmp_path, Person(agrees=True))
    async with Session(board, played(), model="m") as session:
        result = await board.dispatch(Call("1", name, given), session.ctx)
    assert (result.is_error, words in result.text) == (True, True), result.text


async def test_a_host_without_sessions_can_sleep_and_says_that_it_has_no_schedules(tmp_path):
    board = board_at(tmp_path)
    assert (await board.dispatch(Call("1", "Sleep", {"seconds": 0.01}))).value.woken_by == "time"
    assert (await board.dispatch(Call("2", "CronCreate", DAILY))).code == "unsupported"


async def test_a_repository_cannot_change_the_limits(tmp_path):
    (tmp_path / ".pegboard").mkdir()
    (tmp_path / ".pegboard/settings.json").write_text(json.dumps({"schedule": {"most": 9999}}))
    assert board_at(tmp_path).settings.get("schedule.most") == 50


async def test_a_scheduled_prompt_mentions_nothing_that_is_read_without_a_question(tmp_path):
    """A hook of another plugin reads what a prompt mentions, because a person has typed it. A model has typed this."""
    words = "Read @notes:secret://1, (@notes:secret://2) and @@notes:x; then git clone git@github.com:a/b, ask @ann"
    async with Session(board_at(tmp_path), played(), model="m") as session:
        schedules = session.ctx.service("schedules")
        made = schedules.add(Wanted(**{**DAILY, "prompt": words}))
        text = made.text(made.due)
    assert not re.search(r"(?<![\w@])@([A-Za-z0-9_.-]+):([^\s<>\"']+)", text)
    plain = "Read @ notes:secret://1, (@ notes:secret://2) and @@notes:x; then git clone git@github.com:a/b, ask @ann"
    assert text.endswith(plain)
