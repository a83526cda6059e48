"""What a person sees of a session, on a real terminal."""

import json
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import anyio
import pytest

from pegboard import Board, Call, Input, Tool
from pegboard.settings import Settings
from pegboard_cli.live import LiveView
from pegboard_testing.warm import warm

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def seen(tmp_path):
    """Everything that `pegboard run` writes to a terminal while it plays a script of calls."""

    def play(*calls):
        script = tmp_path / "script.jsonl"
        turns = [[{"type": "tool_use", "name": name, "input": given}] for name, given in calls]
        lines = [json.dumps({"content": content}) for content in [*turns, [{"type": "text", "text": "Bye."}]]]
        script.write_text("\n".join(lines))
        leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (50, 100))
        words = ["run", "go", "--replay", str(script), "--permission-mode", "acceptEdits"]
        hidden = ("PEGBOARD_", "NO_COLOR", "COLUMNS", "LINES")  # The terminal above has a size of its own.
        env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        command = [sys.executable, "-m", "pegboard_cli", *words]
        env |= {"HOME": str(warm(tmp_path)), "TERM": "xterm-256color"}
        process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, cwd=tmp_path, env=env, start_new_session=True
        )
        os.close(follower)
        text = ""
        while True:
            try:
                text += os.read(leader, 65536).decode(errors="replace")
            except OSError:
                break
        os.close(leader)
        assert process.wait(30) == 0, text
        return text

    return play


def plain(text):
    return ESCAPES.sub("", text).replace("\r", "")


def test_a_running_command_shows_the_last_lines_of_its_output(seen):
    text = plain(seen(("Bash", {"command": "for i in 1 2 3; do echo line $i; sleep 0.6; done"})))
    assert re.search(r"[⠀-⣿] Run: for i in 1 2 3.*s\s*\n    line 1\n", text)
    assert re.search(
        r"line 3\nBye\.\nSession [0-9a-f]{32}\. Continue with: pegboard run --resume [0-9a-f]{12}\s*$", text
    )
    assert "✓ Run: for i in 1 2 3; do echo line $i; sleep 0.6; done" in text


def test_an_edit_is_shown_as_a_coloured_diff(seen, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    text = seen(("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "zwei"}))
    assert "    -two\n    +zwei\n" in plain(text)
    assert re.search(r"\x1b\[[0-9;]+m-two", text)


def test_a_long_result_stays_short_on_the_screen(seen):
    text = plain(seen(("Bash", {"command": "seq 101 140"})))
    assert "    112\n    … 28 more lines\n" in text
    assert "113" not in text


def test_what_a_file_holds_cannot_steer_the_terminal(seen, tmp_path):
    Path(tmp_path, "a.txt").write_text("x\n")
    text = seen(("Edit", {"file_path": "a.txt", "old_string": "x", "new_string": "\x1b]0;title\x07y"}))
    assert "\x1b]0;" not in text
    assert "+\ufffd]0;title" in plain(text)


def test_a_call_that_is_wrong_is_shown_as_it_was_written(seen):
    text = plain(seen(("Bash", {"comand": "ls"}), ("Nothing", {})))
    assert '✗ Bash comand="ls"' in text
    assert "✗ Nothing" in text


def test_a_result_that_cannot_be_drawn_still_reaches_the_model():
    class Broken(Tool[Input, str]):
        """Nothing."""

        name = "Broken"
        read_only, concurrency_safe, open_world = True, True, False

        def call(self, args, ctx):
            return "the result"

        def render_result(self, value):
            raise RuntimeError("no picture")

    board = Board(Settings(), [], plugins=[LiveView()], tools=[Broken()])
    assert anyio.run(board.dispatch, Call("1", "Broken", {})).text == "the result"
