"""Plans, made and approved in real sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pegboard import Answer, Board, Call, Deny
from pegboard_session import Session, Transcript, restore

from .played import YES, board_with, called, provider, said

PLAN = "# The plan\n\n1. Write a.txt.\n2. Test it."
WRITE = called("Write", file_path="a.txt", content="x\n")


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is tested with the seam itself."""
    return "asyncio"


def results(session: Session) -> list[str]:
    return [
        block["content"][0]["text"]
        for message in session.messages
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def lines(path: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, path.read_text().splitlines()) if line["type"] == kind]


async def planned(board: Board, *turns: dict[str, Any], path: Path | None = None, mode: str = "default") -> Session:
    transcript = Transcript(path) if path else None
    ctx = board.context(mode=mode)
    async with Session(board, provider(*turns), model="m", transcript=transcript, ctx=ctx) as session:
        await session.run("Go")
    return session


async def test_in_plan_mode_nothing_changes_until_the_plan_is_approved(board, answers, tmp_path):
    answers.decision = YES
    turns = (called("EnterPlanMode"), WRITE, called("ExitPlanMode", plan=PLAN), WRITE)
    session = await planned(board, *turns, path=tmp_path / "s.jsonl")
    entered, denied, approved, written = results(session)
    assert entered.startswith("The mode is plan: nothing changes until the user has approved a plan.")
    assert "in the mode plan nothing changes until the plan is approved" in denied
    kept = tmp_path / "s/plans/plan-1.md"
    assert approved == (
        f"The user has approved the plan. The mode is default now. Begin with the work. It is kept in {kept}."
    )
    assert (session.ctx.mode, written.startswith("Created"), kept.read_text()) == ("default", True, f"{PLAN}\n")
    assert kept.stat().st_mode & 0o077 == 0
    [question] = [question for question in answers.asked if question.form]
    assert (question.preview, question.decision.layer, question.call.name) == (PLAN, "forced", "ExitPlanMode")


async def test_what_was_approved_and_refused_is_in_the_transcript(board, answers, tmp_path):
    path = tmp_path / "s.jsonl"
    answers.decision = Answer(YES, input={"plan": "Only step 1."})
    await planned(board, called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN), path=path)
    entered, approved = lines(path, "plan")
    assert (entered["state"], entered["mode_before"]) == ("entered", "default")
    del approved["type"]
    assert {key: approved[key] for key in ("state", "plan", "edited", "file", "mode")} == {
        "state": "approved",
        "plan": "Only step 1.",
        "edited": True,
        "file": str(tmp_path / "s/plans/plan-1.md"),
        "mode": "default",
    }
    assert [line["mode"] for line in lines(path, "change")] == ["plan", "default"]


async def test_an_edited_plan_is_the_one_that_counts(board, answers):
    answers.decision = Answer(YES, input={"decision": "edit", "plan": "Only step 1.", "mode": "acceptEdits"})
    session = await planned(board, called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN))
    told = results(session)[1]
    assert told == (
        "The user has edited the plan and approved this version. The mode is acceptEdits now. Begin with the work."
        "\n\nOnly step 1."
    )
    assert session.ctx.mode == "acceptEdits"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Deny("The user denied it and said: too long", layer="ask"), "The plan was not approved. The user denied it"),
        (Answer(YES, input={"decision": "refuse"}), "The user did not approve the plan. The mode is still plan:"),
        (Answer(YES, input={"decision": "Use SQLite"}), "did not approve the plan and said: Use SQLite. The mode is"),
    ],
)
async def test_a_refused_plan_keeps_the_mode_and_says_why(board, answers, answer, words, tmp_path):
    answers.decision = answer
    path = tmp_path / "s.jsonl"
    session = await planned(board, called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN), path=path)
    assert words in results(session)[1]
    assert session.ctx.mode == "plan"
    assert [line["state"] for line in lines(path, "plan")] == ["entered", "refused"]
    assert not (tmp_path / "s/plans").exists()


CHOSEN: list[tuple[str, dict[str, Any], str]] = [
    ("default", {}, "default"),
    ("default", {"decision": "approve"}, "default"),
    ("default", {"decision": "accept_edits"}, "acceptEdits"),
    ("default", {"mode": "acceptEdits"}, "acceptEdits"),
    ("acceptEdits", {}, "acceptEdits"),
]


async def test_after_approval_the_mode_is_what_it_was_or_what_was_chosen(board, answers):
    turns = (called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN))
    for before, given, after in CHOSEN:
        answers.decision = Answer(YES, input=given)
        assert (await planned(board, *turns, mode=before)).ctx.mode == after


async def test_a_mode_that_is_not_offered_cannot_be_chosen(board, answers):
    answers.decision = Answer(YES, input={"mode": "acceptEdits"})
    turns = (called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN))
    session = await planned(board, *turns, mode="auto")
    assert "The mode acceptEdits cannot be chosen here." in results(session)[1]
    assert session.ctx.mode == "plan"


async def test_where_no_one_can_approve_the_mode_stays(board, answers):
    session = await planned(board, called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN))
    assert results(session)[1].startswith("No one can approve a plan here, so the mode is still plan.")
    assert session.ctx.mode == "plan"


async def test_the_mode_that_asks_no_one_is_not_left_for_one_that_asks(board, answers, tmp_path):
    answers.decision = YES
    bash = called("Bash", command="touch made.txt")
    session = await planned(board, called("EnterPlanMode"), bash, mode="dontAsk")
    entered, denied = results(session)
    assert entered.startswith("In the mode dontAsk no one is asked, so no one could approve a plan.")
    assert "denied" in denied
    assert (session.ctx.mode, answers.asked, (tmp_path / "made.txt").exists()) == ("dontAsk", [], False)


async def test_nothing_approves_a_plan_but_a_person(tmp_path, answers):
    hook = {"hooks": [{"type": "command", "command": '/bin/echo \'{"hookSpecificOutput": {"hookEventName": '
            '"PermissionRequest", "decision": {"behavior": "allow"}}}\''}]}  # fmt: skip
    allow = {"permissions": {"allow": ["ExitPlanMode"]}, "hooks": {"PermissionRequest": [hook]}}
    board = board_with(tmp_path, answers, **allow)
    session = await planned(board, called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN), mode="bypassPermissions")
    assert results(session)[1].startswith("No one can approve a plan here")
    assert [question.call.name for question in answers.asked] == ["ExitPlanMode"]


async def test_a_person_who_switches_to_plan_by_hand_gets_a_plan_too(board, answers):
    answers.decision = YES
    played = provider(said("Hello."), called("ExitPlanMode", plan=PLAN), said("I begin."))
    async with Session(board, played, model="m", ctx=board.context(mode="acceptEdits")) as session:
        await session.run("Hi")
        session.set_mode("plan")
        await session.run("Plan it")
        assert session.ctx.mode == "acceptEdits"
        session.set_mode("plan")
        session.set_mode("default")
        await session.run("Go on")
    asked = json.dumps(played.requests[1].messages)
    assert asked.count("The mode is plan: nothing changes until") == 1
    assert "The user has switched" not in json.dumps(played.requests[-1].messages)


async def test_the_model_is_told_that_it_needs_no_plan_any_more(board, answers):
    played = provider(called("EnterPlanMode"), said("Planning."))
    async with Session(board, played, model="m") as session:
        await session.run("Go")
        session.set_mode("default")
        await session.run("Never mind, do it")
    assert "The user has switched to the mode default" in json.dumps(played.requests[-1].messages)


async def test_a_resumed_session_is_still_planning_and_goes_back_to_the_first_mode(board, answers, tmp_path):
    path = tmp_path / "s.jsonl"
    await planned(board, called("EnterPlanMode"), path=path, mode="acceptEdits")
    answers.decision = YES
    restored = restore(path)
    second = Session(board, provider(called("ExitPlanMode", plan=PLAN)), model="m", transcript=Transcript(path))
    second.resume(restored, second.ctx.after(restored.change()))
    async with second:
        assert second.ctx.mode == "plan"
        await second.run("Go on")
        assert second.ctx.mode == "acceptEdits"


@pytest.mark.parametrize("recorded", ["bypassPermissions", "no such mode", None])
async def test_a_recorded_mode_that_may_not_start_is_not_gone_back_to(tmp_path, answers, recorded):
    board = board_with(tmp_path, answers, **{"permissions.disableBypassPermissionsMode": "disable"})
    path = tmp_path / "s.jsonl"
    await planned(board, called("EnterPlanMode"), path=path)
    path.write_text(path.read_text().replace('"mode_before":"default"', f'"mode_before":{json.dumps(recorded)}'))
    assert [line["mode_before"] for line in lines(path, "plan")] == [recorded]
    answers.decision = YES
    restored = restore(path)
    second = Session(board, provider(called("ExitPlanMode", plan=PLAN)), model="m", transcript=Transcript(path))
    second.resume(restored, second.ctx.after(restored.change()))
    async with second:
        await second.run("Go on")
        assert second.ctx.mode == "default"


async def test_after_a_summary_the_approved_plan_is_said_again(board, answers):
    answers.decision = YES
    summary = said("<summary>We planned.</summary>")
    played = provider(called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN), said("x"), summary, said("Bye."))
    async with Session(board, played, model="m") as session:
        await session.run("Go")
        await session.compact()
        await session.run("And now?")
    assert "The plan that the user approved:\\n# The plan" in json.dumps(played.requests[-1].messages)


async def test_each_approved_plan_has_a_file_of_its_own(board, answers, tmp_path):
    answers.decision = YES
    turns = [called("EnterPlanMode"), called("ExitPlanMode", plan="one")] * 2
    await planned(board, *turns, path=tmp_path / "s.jsonl")
    assert sorted(path.name for path in (tmp_path / "s/plans").iterdir()) == ["plan-1.md", "plan-2.md"]


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("EnterPlanMode", {}, "plan", "The mode is plan already."),
    ("EnterPlanMode", {"plan": "x"}, "default", "has no argument 'plan'"),
    ("ExitPlanMode", {"plan": PLAN}, "default", "The mode is default, not plan."),
    ("ExitPlanMode", {}, "plan", "plan"),
    ("ExitPlanMode", {"plan": "  "}, "plan", "plan"),
    ("ExitPlanMode", {"plan": "x" * 100_001}, "plan", "plan"),
]


async def test_bad_input_gets_a_clear_error_and_the_mode_stays(board, answers):
    answers.decision = YES
    for name, given, mode, words in BAD:
        session = await planned(board, called(name, **given), mode=mode)
        assert words in results(session)[0]
        assert (session.ctx.mode, answers.asked) == (mode, [])


async def test_outside_of_a_session_there_are_no_plans(board):
    result = await board.dispatch(Call("1", "EnterPlanMode", {}))
    assert (result.code, "does not belong to one" in result.text) == ("unsupported", True)


@pytest.mark.parametrize("settings", [{"permissions": {"deny": ["EnterPlanMode"]}}, {"disable": ["EnterPlanMode"]}])
async def test_a_denied_or_absent_tool_changes_no_mode(tmp_path, answers, settings):
    session = await planned(board_with(tmp_path, answers, **settings), called("EnterPlanMode"))
    assert session.ctx.mode == "default"
