"""The list of tasks on a real terminal: it is there while the model works, and follows every change."""

from __future__ import annotations

from .conftest import World, called, said

OLDER = ("--model", "claude-sonnet-4-5")
"""Newer models plan without the tools for tasks."""


def test_the_open_tasks_are_shown_while_the_model_works(world: World) -> None:
    made = [called("TaskCreate", subject=f"Task {name}", activeForm=f"Doing {name}") for name in "ab"]
    begun = called("TaskUpdate", taskId="2", status="in_progress")
    slow = {**called("TaskUpdate", taskId="1", status="completed"), "chunk_ms": 3_000}
    last = {**called("TaskList"), "chunk_ms": 3_000}
    terminal = world.open(*made, begun, slow, last, said("All done."), words=OLDER).ready()
    terminal.type("go")
    terminal.until("  0 of 2 tasks done\n  [>] Doing b\n  [ ] Doing a")
    terminal.until("  1 of 2 tasks done\n  [>] Doing b\n")
    terminal.until("All done.")
    assert "tasks done" not in terminal.text.rpartition("All done.")[2], "it is there only while the model works"


def test_a_subject_cannot_write_to_the_screen(world: World) -> None:
    made = called("TaskCreate", subject="a\x1b[2J\nb")
    terminal = world.open(made, {**said("Done."), "chunk_ms": 3_000}, words=OLDER).ready()
    terminal.type("go")
    terminal.until("  0 of 1 task done\n  [ ] a\\x1b[2J\\nb")
    terminal.until("Done.")
