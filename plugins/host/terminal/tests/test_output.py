"""What a person sees, on a real terminal: the screen after its escape sequences are interpreted."""

from __future__ import annotations

import json
import re
import sys

from .conftest import World, called, said

CTRL_O, CTRL_D = "\x0f", "\x04"
MARKDOWN = """\
# A heading

Some *slanted* words, `code` and <b>tags</b>.

- one
- two

```python
def double(x):
    return 2 * x
```
The end."""
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|9[0-7]|4[0-7])m")


def test_an_answer_is_rendered_and_a_long_result_is_folded(world: World) -> None:
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "seq 101 140"}}
    thinking = {"type": "thinking", "thinking": "I wonder."}
    text = {"type": "text", "text": MARKDOWN}
    terminal = world.open({"content": [thinking, text, call]}, said("All **done**.")).ready()
    beginning = "".join(terminal.lines[:2])
    assert re.match(r"pegboard the script script.jsonl · .*work · session [0-9a-f]{12} · mode default", beginning)
    terminal.type("go")
    terminal.until("All done.")
    shown = terminal.text
    for line in ("I wonder.", "A heading", "Some slanted words, code and <b>tags</b>.", " • one", "  def double(x):"):
        assert f"\n{line}\n" in shown
    assert "● Run: seq 101 140" in shown
    assert "    108\n    … 32 more lines (Ctrl-O shows all)" in shown
    assert "\n109" not in shown
    terminal.press(CTRL_O)
    terminal.until("\n140\n")
    assert b"\x1b[2;3m" in terminal.raw  # thinking, dimmed
    assert re.search(rb"\x1b\[[0-9;]*9[0-9];49mdef", terminal.raw)  # code, in colour


def test_an_edit_is_a_diff_in_colour_and_the_status_says_tokens_and_mode(world: World) -> None:
    (world.work / "a.txt").write_text("one\ntwo\n")
    script = [called("Read", file_path="a.txt"), called("Edit", file_path="a.txt", old_string="two", new_string="zwei")]
    end = {**said("Done."), "usage": {"output_tokens": 1234}}
    terminal = world.open(*script, end, words=("--permission-mode", "acceptEdits")).ready()
    terminal.type("go")
    terminal.until("Done.")
    assert "    -two\n    +zwei\n" in terminal.text
    assert COLOUR.search(terminal.raw)
    terminal.until("1.2k tokens")
    assert any(line.startswith("acceptEdits · ") for line in terminal.lines)


def test_forty_columns_and_a_resize_in_the_middle(world: World) -> None:
    words = " ".join(f"word{number}" for number in range(40))
    terminal = world.open(said(words), said(words), size=(40, 20)).ready()
    terminal.type("narrow")
    terminal.until("word39")
    assert max(map(len, terminal.lines)) <= 40
    assert len([line for line in terminal.lines if line.startswith("word")]) >= 7
    terminal.resize(80, 24)
    terminal.type("wide")
    terminal.until(lambda: terminal.text.count("word39") == 2)
    assert [line for line in terminal.lines if len(line) > 60]
    terminal.until(lambda: terminal.lines[-1] == "" or " tokens" in terminal.text)


def test_a_call_says_how_long_it_runs_and_the_status_what_it_costs(world: World) -> None:
    (world.home / ".pegboard").mkdir()
    price = {"input": 1000, "output": 1000, "cacheRead": 0, "cacheWrite": 0}
    (world.home / ".pegboard/settings.json").write_text(json.dumps({"prices": {"*": price}}))
    call = called("Bash", command="until [ -e go ]; do sleep 0.05; done")
    end = {**said("Over."), "usage": {"input_tokens": 500, "output_tokens": 500}}
    terminal = world.open(call, end, words=("--allow", "Bash")).ready()
    terminal.type("wait")
    terminal.until(lambda: re.search(r"Running 1 call; Esc stops [1-9]\d* s", terminal.text))
    assert re.search(r"Run: until .* [0-9.]+ s", terminal.text)
    (world.work / "go").touch()
    terminal.until("Over.")
    terminal.until(lambda: re.search(r"in use · 1.0k tokens · 1.0000|% of .* · 1.0k tokens · 1.0000", terminal.text))


def test_a_question_and_an_answer_survive_a_resize_in_the_middle(world: World) -> None:
    script = (called("Bash", command="touch asked"), said(" ".join(f"word{number}" for number in range(40))))
    terminal = world.open(*script).ready()
    terminal.type("go")
    terminal.until("Run it? [")
    terminal.resize(40, 24)
    terminal.press("y\r")
    terminal.until("word39")
    assert (world.work / "asked").exists()
    assert max(len(line) for line in terminal.lines if line.startswith("word")) <= 40
    terminal.press("\x1b[Z")
    terminal.until("mode acceptEdits")


def test_nobody_else_steers_the_terminal(world: World) -> None:
    (world.work / "evil.txt").write_text("\x1b]0;from a file\x07 \x1b[2Jx\n")
    script = (said("\x1b]0;from a model\x07 hello"), called("Bash", command="cat evil.txt"), said("Over."))
    terminal = world.open(script[0], *script[1:]).ready()
    terminal.type("go")
    terminal.until("hello")
    terminal.type("more")
    terminal.until("Over.")
    assert b"\x1b]0;from" not in terminal.raw
    assert b"\x1b[2J" not in terminal.raw
    assert "]0;from a model" in terminal.text


def test_no_color_means_none(world: World) -> None:
    world.more["NO_COLOR"] = "1"
    terminal = world.open(said(MARKDOWN)).ready()
    terminal.type("go")
    terminal.until("The end.")
    assert not COLOUR.search(terminal.raw)


def test_a_dumb_terminal_gets_plain_lines_and_the_commands(world: World) -> None:
    world.more["TERM"] = "dumb"
    terminal = world.open(said("A *plain* answer."))
    terminal.ready()
    terminal.press("/nothing\n")
    terminal.until("There is no command /nothing.")
    terminal.press("go\n")
    terminal.until("A *plain* answer.")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert b"\x1b" not in terminal.raw


def test_without_the_package_the_conversation_is_plain_and_says_what_to_install(world: World) -> None:
    (world.home / "s.jsonl").write_text('{"content": [{"type": "text", "text": "Plain."}]}\n')
    program = (
        "import sys; sys.modules['pegboard_terminal'] = None; from pegboard_cli.main import main; sys.exit(main())"
    )
    terminal = world.start([sys.executable, "-c", program, "run", "--replay", str(world.home / "s.jsonl")])
    terminal.until("pip install pegboard-terminal")
    terminal.until(lambda: terminal.lines[-1] == "" and any(line == ">" for line in terminal.lines))
    terminal.press("go\n")
    terminal.until("Plain.")
    terminal.press(CTRL_D)
    assert terminal.end() == 0


def test_work_in_the_background_is_news(world: World) -> None:
    script = (called("Bash", command="true", run_in_background=True), said("Started."))
    terminal = world.open(*script, words=("--allow", "Bash(true)")).ready()
    terminal.type("go")
    terminal.until("Started.")
    terminal.until("◆ The background task task-")


def test_agents_are_shown_and_the_end_of_one_in_the_background_is_news(world: World) -> None:
    (world.work / "a.txt").write_text("x\n")
    given = {"description": "look", "prompt": "look", "subagent_type": "Explore", "name": "ann"}
    script = (
        called("Agent", **given, run_in_background=True),
        {"agent": "ann", **called("Read", file_path="a.txt")},
        {"agent": "ann", **said("Seen.")},
        said("Started."),
    )
    terminal = world.open(*script, size=(40, 24)).ready()
    terminal.type("go")
    terminal.until("Started.")
    terminal.until(lambda: re.search(r"◆ A background agent has finished\.[^…]*\n", terminal.text))
    assert re.search(r"ok +\[\w+\] Read", terminal.text)
    assert len(re.findall(r"Explore ann \[\w+\]", terminal.text)) >= 2, "its beginning and its end"


def test_the_name_of_a_folder_cannot_steer_the_terminal(world: World) -> None:
    world.work = world.work / "a\x01\x1b]0;title\x07\x02b"
    world.work.mkdir()
    terminal = world.open(said("Done."), size=(200, 24)).ready()
    terminal.until(lambda: any(row.startswith("default") and "title" in row for row in terminal.lines))
    terminal.type("go")
    terminal.until("Done.")
    assert b"\x1b]0;title" not in terminal.raw
