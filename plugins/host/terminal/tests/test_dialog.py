"""Questions and plans on a real terminal: arrows, numbers, marks, own words, and a plan that is edited."""

from __future__ import annotations

import json
from typing import Any

from .conftest import Terminal, World, called, said

UP, DOWN, CTRL_D, CTRL_J, ESC = "\x1b[A", "\x1b[B", "\x04", "\n", "\x1b"
DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "options": [
        {"label": "Postgres", "description": "A server of its own.", "preview": "host=db\nport=5432"},
        {"label": "SQLite", "description": "One file.", "preview": "file=app.db"},
    ],
}
PARTS = {"question": "Which parts?", "options": [{"label": "API"}, {"label": "Worker"}], "multiSelect": True}
PLAN = "# The plan\n\n1. Write a.txt."


def asks(*questions: dict[str, Any]) -> dict[str, Any]:
    return called("AskUserQuestion", questions=list(questions))


def kept(world: World) -> str:
    [transcript] = (world.home / ".local/state/pegboard/transcripts").glob("*.jsonl")
    return transcript.read_text()


def begin(world: World, *script: dict[str, Any], size: tuple[int, int] = (80, 30)) -> Terminal:
    terminal = world.open(*script, size=size).ready()
    terminal.type("go")
    return terminal


def test_questions_are_answered_with_arrows_marks_numbers_and_own_words(world: World) -> None:
    script = (asks(DATABASE, PARTS), asks(DATABASE), asks(PARTS), said("Done."))
    terminal = begin(world, *script)
    terminal.until("> 1. Postgres")
    terminal.until("A server of its own.")
    terminal.until("│ port=5432")
    terminal.press(DOWN)
    terminal.until("> 2. SQLite")
    terminal.until("│ file=app.db")
    terminal.press("\r")
    terminal.until("> [ ] 1. API")
    terminal.press(" ")
    terminal.until("> [x] 1. API")
    terminal.press(f"{UP}{UP} \r")  # Around the end of the list: the last but one.
    terminal.until("Which parts? API, Worker")
    terminal.until("> 1. Postgres")
    terminal.press("3")
    terminal.until("Your answer:")
    terminal.press("MySQL 8\r")
    terminal.until("Database: MySQL 8")
    terminal.until("> [ ] 1. API")
    terminal.press("2\r")
    terminal.until("Done.")
    text = kept(world)
    assert "- Which database?: SQLite\\n- Which parts?: API, Worker" in text
    assert "- Which database?: MySQL 8 (in their own words)" in text
    assert "- Which parts?: Worker" in text


def test_a_question_can_be_declined_and_a_turn_stopped(world: World) -> None:
    terminal = begin(world, asks(DATABASE), said("Fine."), asks(DATABASE), said("Later."))
    terminal.until("> 1. Postgres")
    terminal.press(CTRL_D)
    terminal.until("Not answered.")
    terminal.until("Fine.")
    terminal.type("again")
    terminal.until("> 1. Postgres")
    terminal.press(ESC)
    terminal.until("Stopped (interrupted)")
    terminal.ready()
    terminal.type("and now")
    terminal.until("Later.")
    text = kept(world)
    assert "The questions were not answered. The user did not answer." in text
    assert "AskUserQuestion was cancelled by the user." in text


def test_a_plan_is_approved_edited_and_refused(world: World) -> None:
    show = called("ExitPlanMode", plan=PLAN)
    write = called("Write", file_path="a.txt", content="x\n")
    script = (called("EnterPlanMode"), show, show, show, write, said("Done."))
    terminal = begin(world, *script, size=(90, 40))
    terminal.until("| 1. Write a.txt.")
    terminal.until("4. No, keep planning")
    terminal.press("4")
    terminal.until("Plan: No, keep planning")
    terminal.until(lambda: terminal.text.count("| 1. Write a.txt.") == 2)
    terminal.until("5. No, and tell the model what to change")
    terminal.press("5")
    terminal.until("Your answer:")
    terminal.press("Test it too\r")
    terminal.until(lambda: terminal.text.count("| 1. Write a.txt.") == 3)
    terminal.until("3. Yes, after I have edited the plan")
    terminal.press("3")
    terminal.until("The plan: # The plan")
    terminal.press(f"{CTRL_J}2. Test it.")
    terminal.until("2. Test it.")
    terminal.press("\r")
    terminal.until("2. Accept all edits in this session")
    terminal.press("2")
    terminal.until("Done.")
    terminal.until("acceptEdits")
    assert (world.work / "a.txt").read_text() == "x\n"
    [file] = (world.home / ".local/state/pegboard/transcripts").glob("*/plans/plan-1.md")
    assert file.read_text() == f"{PLAN}\n2. Test it.\n"
    text = kept(world)
    assert "The user did not approve the plan. The mode is still plan" in text
    assert "did not approve the plan and said: Test it too. The mode is still plan" in text
    states = [line["state"] for line in map(json.loads, text.splitlines()) if line["type"] == "plan"]
    assert states == ["entered", "refused", "refused", "approved"]


def test_a_plan_is_edited_in_the_persons_editor(world: World) -> None:
    editor = world.home / "editor"
    editor.write_text('#!/bin/sh\nprintf "Only this." > "$1"\n')
    editor.chmod(0o700)
    world.more["EDITOR"] = world.more["VISUAL"] = str(editor)
    terminal = begin(world, called("EnterPlanMode"), called("ExitPlanMode", plan=PLAN), said("Done."))
    terminal.until("3. Yes, after I have edited the plan")
    terminal.press("3")
    terminal.until("The plan: # The plan")
    terminal.press("\x18\x05")
    terminal.until("The plan: Only this.")
    terminal.press("\r")
    terminal.until("1. In the mode default")
    terminal.press("\r")
    terminal.until("Done.")
    [file] = (world.home / ".local/state/pegboard/transcripts").glob("*/plans/plan-1.md")
    assert file.read_text() == "Only this.\n"
