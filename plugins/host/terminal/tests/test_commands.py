"""Slash commands, one after the other, on a real terminal."""

from __future__ import annotations

import json
import re

import pytest

from .conftest import Terminal, World, called, said

ESC = "\x1b"
QUESTION = "Restore 2 files? [y/N]"


def ask(terminal: Terminal, line: str, expected: str) -> None:
    before = terminal.text.count(expected)
    terminal.type(line)
    terminal.until(lambda: terminal.text.count(expected) > before)


def test_what_each_command_says(world: World) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 234}
    (world.work / "AGENTS.md").write_text("# Here\n")
    script = (called("Write", file_path="new.txt", content="hello\n"), {**said("Written."), "usage": usage})
    words = ("--permission-mode", "acceptEdits", "--deny", "Bash(curl *)")
    terminal = world.open(*script, words=words, size=(80, 40)).ready()
    terminal.type("go")
    terminal.until("Written.")
    ask(terminal, "/help", "/export [file]")
    ask(terminal, "/hlep", "There is no command /hlep. Did you mean /help")
    ask(terminal, "/model", "The model is claude-sonnet-5-5 (replay).")
    ask(terminal, "/model another", "The model is another from the next request on.")
    ask(terminal, "/mode plan", "The mode is plan now.")
    ask(terminal, "/mode plann", "There is no mode 'plann'. Did you mean 'plan'?")
    ask(terminal, "/cost", "output tokens")
    ask(terminal, "/context", "instructions and tools")
    ask(terminal, "/tools grep", "1 tool")
    ask(terminal, "/permissions", "deny  Bash(curl *)")
    ask(terminal, "/agents", "Explore")
    ask(terminal, "/diff", "+hello")
    ask(terminal, "/export talk.md", "Exported to")
    assert "## Answer\n\nWritten." in (world.work / "talk.md").read_text()
    ask(terminal, "/export talk.md", "cannot be written: File exists.")
    ask(terminal, "/compact", "compact")
    ask(terminal, "#use tabs", "Added to")
    assert "- use tabs\n" in (world.work / "AGENTS.md").read_text()
    terminal.type("/exit")
    assert terminal.end() == 0


def test_clear_begins_a_new_session_and_resume_goes_back(world: World) -> None:
    log, settings = world.home / "ends.log", world.home / ".pegboard/settings.json"
    settings.parent.mkdir()
    handler = {"type": "command", "command": f"jq -r .reason >> {log}", "timeout": 60}
    settings.write_text(json.dumps({"hooks": {"SessionEnd": [{"hooks": [handler]}]}}))
    terminal = world.open(said("An answer.")).ready()
    first = re.search(r"session ([0-9a-f]{12})", "".join(terminal.lines))
    assert first
    terminal.type("the first prompt")
    terminal.until("An answer.")
    terminal.type("/clear")
    terminal.until(lambda: terminal.text.replace("\n", "").count(" · session ") == 2)
    terminal.ready()
    ask(terminal, "/resume", "/resume ID continues one of them.")
    assert f"{first[1]}  " in terminal.text
    terminal.type(f"/resume {first[1]}")
    terminal.until("Continuing session")
    terminal.until(lambda: terminal.text.replace("\n", "").count(f" · session {first[1]}") == 2)
    terminal.ready().type("/exit")
    assert terminal.end() == 0
    assert log.read_text().split() == ["clear", "resume", "prompt_input_exit"]


@pytest.mark.parametrize("columns", [80, 40])
def test_undo_lists_asks_and_restores_what_a_command_made(world: World, columns: int) -> None:
    (world.work / "make.sh").write_text("echo hi > one.txt; echo hi > two.txt\n")
    made = called("Bash", command="sh make.sh")
    terminal = world.open(made, said("Made."), words=("--allow", "Bash(sh *)"), size=(columns, 24)).ready()
    terminal.type("go")
    terminal.until("Made.")
    ask(terminal, "/diff", "+++ b/two.txt")
    for answer, then in (("\r", "Nothing was done."), ("what\r", "Please answer y, n.")):
        terminal.type("/undo")
        terminal.until(lambda: terminal.lines_with(QUESTION))
        terminal.press(answer)
        terminal.until(then)
    terminal.press(ESC)
    terminal.until("/undo was stopped.")
    assert (world.work / "one.txt").exists()
    assert max(map(len, terminal.lines)) <= columns
    terminal.resize(120 - columns, 24)
    terminal.type("/undo 1")
    terminal.until(lambda: terminal.lines_with(QUESTION))
    terminal.press("y\r")
    terminal.until("Restored 2 files:")
    assert [path.name for path in world.work.iterdir()] == ["make.sh"]
    ask(terminal, "/diff", "The tools have not changed any files.")
    ask(terminal, "/undo", "There is nothing to undo.")


def test_a_dumb_terminal_asks_before_undo_too(world: World) -> None:
    world.more["TERM"] = "dumb"
    terminal = world.open(called("Write", file_path="a.txt", content="x\n"), said("Made."), words=("--allow", "Write"))
    terminal.ready().press("go\n")
    terminal.until("Made.")
    terminal.press("/undo\n")
    terminal.until("Restore 1 file? [y/N]")
    terminal.press("y\n")
    terminal.until("Restored 1 file:")
    assert not (world.work / "a.txt").exists()


def test_a_long_answer_of_a_command_is_folded(world: World) -> None:
    text = "".join(f"line {number}\n" for number in range(400))
    write = called("Write", file_path="long.txt", content=text)
    terminal = world.open(write, said("Written."), words=("--allow", "Write")).ready()
    terminal.type("go")
    terminal.until("Written.")
    ask(terminal, "/diff", "103 more lines (Ctrl-O shows all)")
    assert "+line 399" not in terminal.text
    terminal.press("\x0f")
    terminal.until("+line 399")


def test_a_file_that_a_command_changed_is_in_the_diff(world: World) -> None:
    (world.work / "notes.txt").write_text("one\n")
    change = called("Bash", command="echo two >> notes.txt")
    terminal = world.open(
        change, said("Changed."), words=("--permission-mode", "acceptEdits", "--allow", "Bash")
    ).ready()
    terminal.type("go")
    terminal.until("Changed.")
    ask(terminal, "/diff", " one\n+two")
    assert b"\x1b[32m+two" in terminal.raw
