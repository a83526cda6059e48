"""Questions before a call runs, and modes, on a real terminal."""

from __future__ import annotations

import json
from typing import Any

from .conftest import Terminal, World, called, said

SHIFT_TAB = "\x1b[Z"


def write(name: str, text: str = "x\n") -> dict[str, Any]:
    return called("Write", file_path=name, content=text)


def run(command: str) -> dict[str, Any]:
    return called("Bash", command=command)


def answer(terminal: Terminal, asks: str, choice: str, then: str) -> None:
    """Wait for the question about a call, choose, and wait for what follows."""
    terminal.until(asks)
    terminal.until("Run it? [")
    terminal.press(f"{choice}\r")
    terminal.until(then)


def test_each_answer_to_a_question(world: World) -> None:
    script = (run("touch once"), run("touch session"), run("touch session"), run("touch always"), run("touch always"))
    more = (run("touch never"), run("touch other"), write("edited"), write("edited-too"), said("Done."))
    terminal = world.open(*script, *more, size=(80, 40)).ready()
    terminal.type("go")
    answer(terminal, "| command: touch once", "y", "Approved this once.")
    answer(terminal, "| command: touch session", "s", "Approved for this session.")
    terminal.until("always: add to .pegboard/settings.local.json: allow Bash(touch always)")
    answer(terminal, "| command: touch always", "a", "  Saved to")
    answer(terminal, "| command: touch never", "n", "Denied.")
    answer(terminal, "| command: touch other", "m", "Message to the model:")
    terminal.press("use another name\r")
    terminal.until("| file_path: ")
    answer(terminal, "and allow all edits in this session", "e", "The mode is acceptEdits now.")
    terminal.until("Done.")
    assert sorted(path.name for path in world.work.iterdir() if not path.name.startswith(".")) == [
        *("always", "edited", "edited-too", "once", "session")
    ]
    kept = json.loads((world.work / ".pegboard/settings.local.json").read_text())
    assert "Bash(touch always)" in kept["permissions"]["allow"]
    assert terminal.text.count("asks to run:") == 6  # Not for the repeated calls, nor for the second edit.
    [transcript] = (world.home / ".local/state/pegboard/transcripts").glob("*.jsonl")
    assert "The user denied it and said: use another name" in transcript.read_text()


def test_a_long_call_is_folded_and_offers_rules_only_when_it_was_seen(world: World) -> None:
    terminal = world.open(write("long.txt", "".join(f"line {number}\n" for number in range(60))), said("Done.")).ready()
    terminal.press("a draft")
    terminal.until("> a draft")
    terminal.press("\r")
    terminal.until("more lines; v shows all")
    terminal.until("Run it? [y/e/v/N/m]")
    assert "always:" not in terminal.text
    terminal.press("v\r")
    terminal.until("line 59")
    terminal.until("Run it? [y/s/")
    terminal.press("y\r")
    terminal.until("Done.")
    assert (world.work / "long.txt").exists()


def test_what_is_being_typed_waits_while_a_question_is_asked(world: World) -> None:
    script = (run("sleep 1; touch once"), said("Done."), said("Next."))
    terminal = world.open(*script).ready()
    terminal.type("go")
    terminal.until("Run it? [")
    terminal.press("n\r")
    terminal.until("Done.")
    terminal.type("after it")
    terminal.until("Next.")
    assert not (world.work / "once").exists()


def test_shift_tab_goes_through_the_modes(world: World) -> None:
    terminal = world.open(said("Never.")).ready()
    for mode in ("acceptEdits", "plan"):
        terminal.press(SHIFT_TAB)
        terminal.until(f"mode {mode} · {mode}")
    terminal.press(SHIFT_TAB * 2)
    terminal.until("mode default · default")


def test_a_line_longer_than_the_screen_is_folded_too(world: World) -> None:
    terminal = world.open(run("echo begin; " + "x" * 3000 + "; echo end"), said("Done.")).ready()
    terminal.type("go")
    terminal.until("more lines; v shows all")
    terminal.until("Run it? [y/v/N/m]")
    assert any("echo begin; xxx" in row for row in terminal.screen.display)
    terminal.press("v\r")
    terminal.until("; echo end")
    terminal.press("n\r")
    terminal.until("Done.")
