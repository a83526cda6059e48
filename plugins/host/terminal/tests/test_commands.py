"""Slash commands, one after the other, on a real terminal."""

from __future__ import annotations

import json
import re

from .conftest import Terminal, World, called, said


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
    ask(terminal, "/model", "The model is claude-sonnet-5-5, of the provider replay.")
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
    ask(terminal, "/resume", "/resume ID goes on with one of them.")
    assert f"{first[1]}  " in terminal.text
    terminal.type(f"/resume {first[1]}")
    terminal.until("Continuing session")
    terminal.until(lambda: terminal.text.replace("\n", "").count(f" · session {first[1]}") == 2)
    terminal.ready().type("/exit")
    assert terminal.end() == 0
    assert log.read_text().split() == ["clear", "resume", "prompt_input_exit"]
