"""Questions with a form: in plain lines on a real terminal, through pipes, and where no one is there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pegboard import Choice, FormField
from pegboard_cli.form_text import value_of

from .test_asking import Terminal, world
from .test_program import calls, driven, says

__all__ = ["driven", "world"]  # These are fixtures.

pytestmark = pytest.mark.timeout(120)
DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "Postgres", "description": "A server.", "preview": "host=db"}, {"label": "SQLite"}],
}
PARTS = {"question": "Which parts?", "options": [{"label": "API"}, {"label": "Worker"}], "multiSelect": True}
PLAN = "# The plan\n\n1. Write a.txt."


def test_questions_are_answered_in_plain_lines(world):
    terminal = world.call(
        "AskUserQuestion", json.dumps({"questions": [DATABASE, PARTS, {**DATABASE, "question": "Q3?"}]})
    )
    shown = terminal.until("Number or your own words (Enter declines): ")
    for line in (
        "The model has 3 questions for you.",
        "Database: Which database?",
        "  1  Postgres: A server.",
        "| host=db",
    ):
        assert line in shown
    terminal.type("7")
    terminal.until("Please type one of the numbers 1 and 2, or words.")
    terminal.type("sqlite")
    terminal.until("Numbers or your own words (Enter declines): ")
    terminal.type("1, 2")
    terminal.until("Q3?")
    terminal.until("(Enter declines): ")
    terminal.type("3")
    terminal.until("Your answer: ")
    terminal.type("MySQL 8")
    code, output = terminal.end()
    assert (code, output.splitlines()[1:]) == (
        0,
        ["- Which database?: SQLite", "- Which parts?: API, Worker", "- Q3?: MySQL 8 (in their own words)"],
    )


def test_no_line_declines(world):
    terminal = world.call("AskUserQuestion", json.dumps({"questions": [DATABASE]}))
    terminal.until("(Enter declines): ")
    terminal.type("")
    terminal.until("The questions were not answered. The user did not answer.")
    assert terminal.end()[0] != 0
    [line] = [line for line in world.audit() if line.get("asked_by") == "question"]
    assert (line["tool"], line["decision"]) == ("AskUserQuestion", "deny")


@pytest.mark.parametrize("words", [(), ("--yes",)])
def test_without_a_terminal_no_one_can_answer(world, words):
    done = world.quietly("call", "AskUserQuestion", json.dumps({"questions": [DATABASE]}), *words)
    assert done.returncode != 0
    assert "No one can answer questions here." in done.stderr + done.stdout


def test_a_plan_in_plain_lines_is_edited_and_approved(world):
    script = [calls("EnterPlanMode"), calls("ExitPlanMode", plan=PLAN), says("I begin.")]
    (world.home / "script.jsonl").write_text("\n".join(json.dumps({"content": turn}) for turn in script))
    words = ["run", "--replay", str(world.home / "script.jsonl")]
    terminal = Terminal(words, world.work, {**world.env, "TERM": "dumb"})
    terminal.until("> ")
    terminal.type("go")
    shown = terminal.until("Number or your own words (Enter declines): ")
    assert "  | 1. Write a.txt." in shown
    terminal.type("3")
    terminal.until("End it with a line that has only a '.'")
    terminal.type("Only this.\n.")
    terminal.until("(Enter for default): ")
    terminal.type("")
    terminal.until("> ")
    terminal.type("\x04")
    terminal.end()
    [plan] = (world.home / ".local/state/pegboard/transcripts").glob("*/plans/*.md")
    assert plan.read_text() == "Only this.\n"


def test_a_program_is_asked_with_a_form_and_answers_it(driven):
    turns = [calls("AskUserQuestion", questions=[DATABASE, PARTS]), says("Thanks.")]
    program = driven(turns)
    program.write({"type": "prompt", "text": "go"})
    question = program.wait_for({"type": "question", "name": "AskUserQuestion"})
    assert question["input"] == {"questions": [DATABASE, PARTS]}
    first, second = question["form"]
    assert (first["name"], first["header"], first["choices"][0]) == (
        "Which database?",
        "Database",
        {"value": "Postgres", "description": "A server.", "preview": "host=db"},
    )
    assert (first["own_words"], second["multiple"], second["required"]) == ("Other (in your own words)", True, True)
    program.write({"type": "answer", "id": question["id"], "decision": "allow"})
    complaint = program.wait_for({"type": "input_error"})
    assert complaint["message"] == "answer: 'Which database?' is not answered. The question is still open."
    filled = {"Which database?": "SQLite", "Which parts?": ["API"]}
    program.write({"type": "answer", "id": question["id"], "decision": "allow", "input": filled})
    done = program.wait_for({"type": "call_finished", "name": "AskUserQuestion"})
    assert done["said"] == "The user answered:\n- Which database?: SQLite\n- Which parts?: API"
    program.wait_for({"type": "result"})
    assert program.end() == 0


def test_a_program_approves_edits_and_refuses_plans(driven, tmp_path):
    show = calls("ExitPlanMode", plan=PLAN)
    program = driven([calls("EnterPlanMode"), show, show, says("I begin.")])
    program.write({"type": "prompt", "text": "go"})
    first = program.wait_for({"type": "question", "name": "ExitPlanMode"})
    assert (first["preview"], first["layer"], first["input"]) == (PLAN, "forced", {"plan": PLAN})
    assert [field["name"] for field in first["form"]] == ["decision", "plan", "mode"]
    program.write({"type": "answer", "id": first["id"], "decision": "deny", "reason": "too short"})
    refused = program.wait_for({"type": "call_finished", "name": "ExitPlanMode"})
    assert "The user denied it and said: too short" in refused["said"]
    second = program.wait_for({"type": "question"})
    given: dict[str, Any] = {"plan": "Longer.", "mode": "acceptEdits"}
    program.write({"type": "answer", "id": second["id"], "decision": "allow", "input": given})
    approved = program.wait_for({"type": "call_finished", "name": "ExitPlanMode"})
    assert approved["said"].startswith(
        "The user has edited the plan and approved this version. The mode is acceptEdits"
    )
    program.wait_for({"type": "result"})
    assert program.end() == 0
    [plan] = tmp_path.glob(".local/state/pegboard/transcripts/*/plans/*.md")
    assert plan.read_text() == "Longer.\n"


def test_an_interrupted_question_is_taken_back(driven):
    program = driven([calls("AskUserQuestion", questions=[DATABASE]), says("Never.")])
    program.write({"type": "prompt", "text": "go"})
    question = program.wait_for({"type": "question"})
    program.write({"type": "interrupt"})
    assert program.wait_for({"type": "question_cancelled"})["id"] == question["id"]
    program.wait_for({"type": "result", "stopped_by": "interrupted"})


ONE = FormField("x", "?", choices=(Choice("a", "Alpha"), Choice("b")))


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        (ONE, "2", "b"),
        (ONE, "alpha", "a"),
        (FormField("x", "?", kind="boolean"), "Yes", True),
        (FormField("x", "?", kind="integer"), " 12 ", 12),
        (FormField("x", "?", kind="number"), "1.5", 1.5),
        (FormField("x", "?"), "some words", "some words"),
        (FormField("x", "?", choices=ONE.choices, multiple=True), "2 1 2", ["b", "a"]),
    ],
)
def test_what_is_typed_means_a_value(field, typed, value):
    assert value_of(field, typed) == value


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        (ONE, "3", "Please type one of the numbers 1 and 2."),
        (ONE, "1 2", "Please type one of the numbers 1 and 2."),
        (ONE, "beta", "Please type one of the numbers 1 and 2."),
        (FormField("x", "?", kind="boolean"), "maybe", "Please answer y or n."),
        (FormField("x", "?", kind="integer"), "1.5", "Please type a whole number."),
        (FormField("x", "?", kind="number"), "much", "Please type a number."),
    ],
)
def test_what_makes_no_sense_is_asked_again(field, typed, words):
    with pytest.raises(ValueError, match="Please") as raised:
        value_of(field, typed)
    assert str(raised.value) == words
