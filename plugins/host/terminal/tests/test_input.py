"""What a person types, on a real terminal."""

from __future__ import annotations

import os

from .conftest import PATIENCE, World, called, said

PASTE, END_PASTE = "\x1b[200~", "\x1b[201~"
UP, CTRL_C, CTRL_D, CTRL_R, ESC = "\x1b[A", "\x03", "\x04", "\x12", "\x1b"
SLEEP = called("Bash", command="sleep 300")
SLEEPS = ("--allow", "Bash(sleep *)")


def test_several_lines_are_one_prompt_by_paste_backslash_or_alt_enter(world: World) -> None:
    terminal = world.open(said("First."), said("Second."), said("Third.")).ready()
    terminal.press(f"{PASTE}one\ntwo\nthree{END_PASTE}")
    terminal.until("  three")
    terminal.press("\r")
    terminal.until("First.")
    assert "> one\n  two\n  three" in terminal.text
    terminal.press("a\\\rb\r")
    terminal.until("Second.")
    assert "> a\n  b" in terminal.text
    terminal.press("x\x1b\ry\r")
    terminal.until("Third.")
    assert "> x\n  y" in terminal.text


def test_keys_of_emacs_edit_the_line_and_shift_enter_begins_another(world: World) -> None:
    terminal = world.open(said("Edited."), said("Two lines."), size=(40, 20)).ready()
    terminal.press("two three\x01one \x05 four\x17\x17\x19\x1bb\x1bd!\r")  # ^A ^E ^W ^W ^Y M-b M-d
    terminal.until("Edited.")
    assert "> one two three !" in terminal.text
    terminal.press("a\x1b[13;2ub\x1b[27;2;13~c\r")
    terminal.until("Two lines.")
    assert "> a\n  b\n  c" in terminal.text


def test_another_folder_has_a_history_of_its_own(world: World) -> None:
    first = world.open(said("One.")).ready()
    first.type("only here")
    first.until("One.")
    first.press(CTRL_D)
    assert first.end() == 0
    world.work = world.work.with_name("elsewhere")
    world.work.mkdir()
    other = world.open(said("Two.")).ready()
    other.press(f"{UP}typed")
    other.until("> typed")
    assert "only here" not in other.text


def test_earlier_inputs_of_the_folder_come_back_and_are_searched(world: World) -> None:
    first = world.open(said("One."), said("Two.")).ready()
    first.type("the alpha prompt")
    first.until("One.")
    first.type("the beta prompt")
    first.until("Two.")
    first.press(CTRL_D)
    assert first.end() == 0
    again = world.open(said("Three."), said("Four.")).ready()
    again.press(UP)
    again.until("> the beta prompt")
    again.press(f"{CTRL_C}{CTRL_R}alpha")
    again.until("> the alpha prompt")
    again.press("\r")
    again.press("\r")
    again.until("Three.")
    assert "> the alpha prompt" in again.text


def test_commands_files_and_agents_are_completed(world: World) -> None:
    (world.work / "notes-of-today.md").write_text("x")
    terminal = world.open(said("Seen.")).ready()
    terminal.press("/perm")
    terminal.until("show the mode and the permission rules")
    terminal.press("\t")
    terminal.until("> /permissions")
    terminal.press(CTRL_C + "/mode pl\t")
    terminal.until("> /mode plan")
    terminal.press(CTRL_C)
    terminal.until(lambda: "/mode plan" not in terminal.text)
    terminal.press("read @no")
    terminal.until(" notes-of-today.md")
    terminal.press("\t")
    terminal.until("> read @notes-of-today.md")
    terminal.press(CTRL_C + "ask @Exp\t")
    terminal.until("> ask @Explore")


def test_ctrl_c_clears_the_line_and_twice_leaves(world: World) -> None:
    terminal = world.open(said("Never.")).ready()
    terminal.press("half a prompt")
    terminal.until("> half a prompt")
    terminal.press(CTRL_C)
    terminal.until(lambda: "half a prompt" not in terminal.text)
    terminal.until("Press Ctrl-C again to leave.")
    terminal.press(CTRL_C)
    assert terminal.end() == 0
    assert "Never." not in terminal.text


def test_esc_stops_the_turn_keeps_what_was_done_and_goes_on_with_what_was_typed(world: World) -> None:
    script = (called("Bash", command="echo kept > kept.txt"), SLEEP, said("After it."))
    terminal = world.open(*script, words=(*SLEEPS, "--allow", "Bash(echo *)", "--permission-mode", "acceptEdits"))
    terminal.ready().type("go")
    terminal.until("Run: sleep 300")
    terminal.type("and then this")
    terminal.until("queued: and then this")
    terminal.press(ESC)
    terminal.until("Stopped (interrupted)")
    terminal.until("After it.")
    assert "> and then this" in terminal.text
    assert (world.work / "kept.txt").read_text() == "kept\n"


def test_ctrl_c_stops_a_turn_and_ctrl_d_leaves(world: World) -> None:
    terminal = world.open(SLEEP, said("Fine."), words=SLEEPS).ready()
    terminal.type("go")
    terminal.until("Running 1 call")
    terminal.press(CTRL_C)
    terminal.until("Stopped (interrupted)")
    terminal.type("again")
    terminal.until("Fine.")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert "Continue with: pegboard run --resume" in terminal.text.replace("\n", "")


def test_a_terminal_that_is_gone_ends_the_conversation_without_its_signal(world: World) -> None:
    terminal = world.open(said("Done.")).ready()  # It is not the controlling terminal: no signal comes.
    os.close(terminal.leader)
    terminal.leader = os.open(os.devnull, os.O_RDONLY)
    assert terminal.process.wait(PATIENCE) >= 0
