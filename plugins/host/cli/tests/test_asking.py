"""Asking a person, through a real terminal: what they see, what they can choose, and what becomes of it."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

import pytest

from pegboard import Ask, Call, Question
from pegboard_cli.question_text import lines_of, revealed
from pegboard_testing.warm import warm

MORE = "-- Enter for more, q to stop reading --"


def test_the_question_shows_how_the_tool_describes_the_call():
    question = Question(
        Call("1", "Read", {}), Ask("Why not?"), "the scout: Read notes\x1b, from line 3", agent="the scout"
    )
    assert list(lines_of(question, colour=False)) == [
        "the scout: Read asks to run:",
        "  Read notes<U+001B>, from line 3",
        "why: Why not?",
    ]


class Terminal:
    """A command on a pseudo-terminal, read and answered as a person would."""

    def __init__(self, words, cwd, env):
        self.leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (50, 200))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pegboard_cli", *words],
            stdin=follower,
            stdout=subprocess.PIPE,
            stderr=follower,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        os.close(follower)
        self.seen = ""

    def waits_for(self, *texts, seconds=30):
        """The first of these texts to appear."""
        limit = time.monotonic() + seconds
        while not any(text in self.seen for text in texts):
            ready, _, _ = select.select([self.leader], [], [], max(0, limit - time.monotonic()))
            assert ready, f"none of {texts} appeared in {self.seen!r}"
            try:
                self.seen += os.read(self.leader, 65536).decode()
            except OSError:
                raise AssertionError(f"the command ended without {texts}: {self.seen!r}") from None
        return min((text for text in texts if text in self.seen), key=self.seen.index)

    def until(self, text):
        """Everything up to this text."""
        self.waits_for(text)
        before, _, self.seen = self.seen.partition(text)
        return before.replace("\r\n", "\n")

    def type(self, line):
        os.write(self.leader, line.encode() + b"\n")

    def end(self):
        """The exit code, and what was written meanwhile."""
        output, _ = self.process.communicate(timeout=30)
        os.close(self.leader)
        return self.process.returncode, output.decode()


@pytest.fixture
def world(tmp_path):
    class World:
        work, home = tmp_path / "work", tmp_path / "home"

        @property
        def env(self):
            clean = {
                k: v for k, v in os.environ.items() if not k.startswith(("PEGBOARD_", "XDG_", "CLAUDE_", "NO_COLOR"))
            }
            return {**clean, "HOME": str(warm(self.home)), "TERM": "xterm"}

        @property
        def local(self):
            return self.work / ".pegboard" / "settings.local.json"

        def call(self, *words):
            return Terminal(["call", *words], self.work, self.env)

        def quietly(self, *words):
            command = [sys.executable, "-m", "pegboard_cli", *words]
            return subprocess.run(
                command,
                cwd=self.work,
                env=self.env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )

        def audit(self):
            log = self.home / ".local/state/pegboard/audit.jsonl"
            return [json.loads(line) for line in log.read_text().splitlines()]

    made = World()
    made.work.mkdir()
    made.home.mkdir()
    return made


def test_yes_runs_it_once_and_leaves_no_rule(world):
    terminal = world.call("Write", "file_path=a.txt", "content=hello")
    shown = terminal.until("Run it? [y/a/N/m] ")
    assert f"file_path: {world.work}/a.txt" in shown
    assert "content: hello" in shown
    assert "why: Write can change something." in shown
    terminal.type("y")
    assert terminal.end()[0] == 0
    assert (world.work / "a.txt").read_text() == "hello"
    assert not world.local.exists()
    [line] = world.audit()
    assert (line["decision"], line["by"], line["approved_sha256"]) == ("allow", "user", line["input_sha256"])


@pytest.mark.parametrize("answer", ["n", "", "no"])
def test_anything_but_a_yes_is_a_no(world, answer):
    terminal = world.call("Write", "file_path=a.txt", "content=hello")
    terminal.until("Run it?")
    terminal.type(answer)
    assert terminal.end()[0] == 3
    assert not (world.work / "a.txt").exists()


def test_an_answer_that_means_nothing_is_asked_again(world):
    terminal = world.call("Write", "file_path=a.txt", "content=hello")
    terminal.until("Run it?")
    terminal.type("maybe")
    terminal.until("Please answer y, a, n, m.")
    terminal.until("Run it?")
    terminal.type("n")
    assert terminal.end()[0] == 3


def test_a_no_can_carry_a_message_to_the_model(world):
    terminal = world.call("Write", "file_path=a.txt", "content=hello", "--json")
    terminal.until("Run it?")
    terminal.type("m")
    terminal.until("Message to the model: ")
    terminal.type("use b.txt instead")
    code, output = terminal.end()
    assert code == 3
    said = json.loads(output)["content"][0]["text"]
    assert said.startswith("Write was denied. The user denied it and said: use b.txt instead")


def test_always_writes_the_rule_that_was_shown_and_it_covers_only_this(world):
    terminal = world.call("Write", "file_path=a[1]*.txt", "content=hello")
    shown = terminal.until("Run it?")
    rule = f"Edit(/{world.work}/a\\[1\\]\\*.txt)"
    assert f"allow {rule}" in shown
    terminal.type("a")
    terminal.until("Saved to ")
    assert terminal.end()[0] == 0
    assert json.loads(world.local.read_text()) == {"permissions": {"allow": [rule]}}
    names = ["a[1]*.txt", "a1.txt", "a[1]x.txt", "b.txt"]
    judged = [world.quietly("why", "Write", f"file_path={name}", "content=x").returncode for name in names]
    assert judged == [0, 4, 4, 4]


def test_always_is_not_offered_where_a_rule_would_not_help(world):
    (world.home / ".pegboard").mkdir()
    (world.home / ".pegboard/settings.json").write_text('{"permissions": {"ask": ["Edit(a.txt)"]}}')
    for path in ("a.txt", ".bashrc"):
        terminal = world.call("Write", f"file_path={path}", "content=x")
        terminal.until("Run it? [y/N/m] ")
        terminal.type("a")
        terminal.until("Please answer y, n, m.")
        terminal.type("n")
        assert terminal.end()[0] == 3


def test_what_hides_moves_or_turns_is_made_visible(world):
    text = "rm -rf /\x1b[2K\x1b[1Aecho hello\u202etxt.\u200b\u3164"
    terminal = world.call("Write", json.dumps({"file_path": "a.txt", "content": text}))
    shown = terminal.until("Run it?")
    assert "rm -rf /<U+001B>[2K<U+001B>[1Aecho hello<U+202E>txt.<U+200B><U+3164>" in shown
    terminal.type("n")
    terminal.end()


def test_lines_of_an_input_cannot_pose_as_a_choice(world):
    terminal = world.call("Write", json.dumps({"file_path": "a.txt", "content": "x\nwhy: it is harmless\n  y  yes"}))
    shown = terminal.until("Run it?")
    assert "content: (3 lines," in shown
    assert "  |   why: it is harmless\n" in shown
    assert "  |     y  yes\n" in shown
    terminal.type("n")
    terminal.end()


def test_what_the_model_says_of_a_command_stands_with_its_input(world):
    said = {"command": "touch 'x\nwhy: it only reads'", "description": "what it changes:\nnothing at all"}
    terminal = world.call("Bash", json.dumps(said))
    shown = terminal.until("Run it?")
    asked, _, host = shown.partition("\nwhat it changes:\n")
    assert "  |   what it changes:\n" in asked
    assert "  |   why: it only reads'\n" in asked
    assert "nothing at all" not in host
    assert all(
        line.startswith(("  | ", "why: touch ", "  y", "  a", "  n", "  m", "       allow "))
        for line in host.split("\n")[:-1]
    )
    terminal.type("n")
    terminal.end()


def test_a_long_input_is_shown_whole_page_by_page(world):
    text = "\n".join(f"line {number}" for number in range(100))
    terminal = world.call("Write", json.dumps({"file_path": "a.txt", "content": text}))
    pages = 0
    shown = ""
    while terminal.waits_for(MORE, "Run it? [y/a/N/m] ") == MORE:
        shown += terminal.until(MORE)
        terminal.type("")
        pages += 1
    shown += terminal.until("Run it? [y/a/N/m] ")
    assert pages > 1
    assert all(f"  |   line {number}\n" in shown for number in range(100))
    terminal.type("n")
    assert terminal.end()[0] == 3


def test_who_does_not_read_to_the_end_is_not_offered_always(world):
    text = "\n".join(f"line {number}" for number in range(200))
    terminal = world.call("Write", json.dumps({"file_path": "a.txt", "content": text}))
    terminal.until(MORE)
    terminal.type("q")
    shown = terminal.until("Run it? [y/N/m] ")
    assert "(the rest was not shown)" in shown
    terminal.type("n")
    assert terminal.end()[0] == 3


def test_what_was_typed_before_the_question_is_no_answer(world):
    terminal = world.call("Write", "file_path=a.txt", "content=hello")
    terminal.type("y")
    terminal.until("Run it?")
    terminal.type("n")
    assert terminal.end()[0] == 3
    assert not (world.work / "a.txt").exists()


def test_without_a_terminal_the_call_is_denied_with_the_reason(world):
    done = world.quietly("call", "Write", "file_path=a.txt", "content=x")
    assert done.returncode == 3
    assert done.stderr == (
        "pegboard: Write was denied. Write can change something. There was no one to approve it. "
        "Add --yes to approve this call. To approve it from now on, "
        f'add {{"permissions": {{"allow": ["Edit(/{world.work}/a.txt)"]}}}} to ~/.pegboard/settings.json.\n'
    )


def test_the_rule_that_a_person_is_told_to_add_does_what_it_says(world):
    told = world.quietly("call", "Write", "file_path=a.txt", "content=x").stderr
    (rule,) = re.findall(r"add (\{.*\}) to ~/.pegboard/settings.json", told)
    folder = world.home / ".pegboard"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(rule)
    assert world.quietly("call", "Write", "file_path=a.txt", "content=x").returncode == 0
    assert (world.work / "a.txt").read_text() == "x"


@pytest.mark.parametrize("words", [("file_path=a.txt",), ("file_path=.bashrc",), ("file_path=.bashrc", "--yes")])
def test_a_person_is_never_told_what_a_model_is_told(world, words):
    done = world.quietly("call", "Write", *words, "content=x")
    assert (done.returncode, "Continue without it" in done.stderr, "ask the user" in done.stderr) == (3, False, False)


@pytest.mark.parametrize("path", [".bashrc", ".git/hooks/pre-commit", ".pegboard/settings.json"])
def test_yes_never_answers_a_safety_check(world, path):
    done = world.quietly("call", "Write", f"file_path={path}", "content=x", "--yes")
    assert done.returncode == 3
    assert "--yes does not apply to a safety check." in done.stderr
    assert not (world.work / path).exists()
    assert world.audit()[0]["by"] == "host"


def test_yes_answers_an_ask_and_the_log_says_that_no_person_did(world):
    assert world.quietly("call", "Write", "file_path=a.txt", "content=x", "--yes").returncode == 0
    assert world.audit()[0]["by"] == "option"


def test_a_denial_names_the_rule_and_the_file(world):
    (world.work / ".pegboard").mkdir()
    (world.work / ".pegboard/settings.json").write_text('{"permissions": {"deny": ["Bash(git push:*)"]}}')
    done = world.quietly("call", "Bash", "command=git push origin")
    assert done.stderr == ("pegboard: Bash was denied by the rule Bash(git push:*) in .pegboard/settings.json.\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 漢 é", "plain ü 漢 é"),
        ("a\tb", "a<TAB>b"),
        ("\u00a0\u2003", "<U+00A0><U+2003>"),
        ("\ufe0f\U000e0041\ufeff", "<U+FE0F><U+E0041><U+FEFF>"),
        ("\u2028\x85\x00", "<U+2028><U+0085><U+0000>"),
    ],
)
def test_every_character_shows(text, shown):
    assert revealed(text) == shown


def test_always_for_a_compound_command_is_a_rule_for_each_part(world):
    terminal = world.call("Bash", "command=touch one && touch two")
    shown = terminal.until("Run it?")
    if "allow Bash(" not in shown:
        terminal.type("n")
        terminal.end()
        pytest.skip("this Bash does not take commands apart")
    assert "allow Bash(touch one)\n" in shown
    assert "allow Bash(touch two)\n" in shown
    terminal.type("a")
    terminal.until("Saved to ")
    assert terminal.end()[0] == 0
    assert world.quietly("call", "Bash", "command=touch two").returncode == 0
    assert world.quietly("call", "Bash", "command=touch three").returncode == 3


SLOW = {"type": "tool_use", "name": "Bash", "input": {"command": "sleep 60; touch made"}}


def script(world, *turns):
    path = world.home / "script.jsonl"
    path.write_text("".join(json.dumps({"content": [block]}) + "\n" for block in turns))
    return str(path)


def said(words):
    return {"type": "text", "text": words}


def test_one_ctrl_c_at_a_question_ends_the_run_and_leaves_no_reader_behind(world):
    terminal = Terminal(["run", "--replay", script(world, SLOW), "Go"], world.work, world.env)
    terminal.until("Run it? [y/a/N/m] ")
    terminal.process.send_signal(signal.SIGINT)
    terminal.until("stopped (interrupted)")
    code, _ = terminal.end()
    assert code == 130


def test_the_line_after_an_interrupted_question_is_the_next_prompt(world):
    played = script(world, SLOW, said("I heard you."))
    terminal = Terminal(["run", "--replay", played], world.work, world.env)
    terminal.until("> ")
    terminal.type("Go")
    terminal.until("Run it? [y/a/N/m] ")
    terminal.process.send_signal(signal.SIGINT)
    terminal.until("stopped (interrupted)")
    terminal.until("> ")
    terminal.type("a")
    terminal.until("> ")
    terminal.process.send_signal(signal.SIGINT)
    code, output = terminal.end()
    assert (code, output) == (130, "I heard you.\n")
    assert not world.local.exists()


def test_ctrl_c_interrupts_each_prompt_of_a_conversation_anew(world):
    played = script(world, SLOW, SLOW, said("Third."))
    terminal = Terminal(["run", "--replay", played, "--allow", "Bash"], world.work, world.env)
    for _ in range(2):
        terminal.until("> ")
        terminal.type("Go")
        time.sleep(1)
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("stopped (interrupted)")
    terminal.until("> ")
    terminal.type("And now?")
    terminal.until("> ")
    os.write(terminal.leader, b"\x04")
    assert terminal.end() == (0, "Third.\n")


def of_agent(name, *blocks):
    return {"agent": name, "content": list(blocks)}


def script_of_agents(world, *turns):
    path = world.home / "script.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return str(path)


def call_of(tool, **given):
    return {"type": "tool_use", "name": tool, "input": given}


def test_a_question_from_the_background_goes_before_the_prompt_and_gets_its_answer(world):
    """While the person is at the prompt, both would wait for the same line: it must not become a prompt."""
    start = call_of("Agent", description="d", prompt="p", name="back", run_in_background=True)
    wait, write = call_of("Bash", command="sleep 1"), call_of("Write", file_path="a.txt", content="x")
    played = script_of_agents(
        world,
        {"content": [start]},
        {"content": [said("One.")]},
        {"content": [said("Two.")]},
        of_agent("back", wait),
        of_agent("back", write),
        of_agent("back", {"type": "text", "text": "wrote it"}),
    )
    terminal = Terminal(["run", "--replay", played, "--allow", "Bash"], world.work, world.env)
    terminal.until("> ")
    terminal.type("Go")
    terminal.until("> ")
    os.write(terminal.leader, b"half a pro")
    shown = terminal.until("Run it? [y/a/N/m] ")
    assert "agent back (agent-" in shown
    terminal.type("y")
    terminal.until("in the background done: 2 calls")
    terminal.until("> ")
    assert (world.work / "a.txt").read_text() == "x"
    terminal.type("Next")
    terminal.until("> ")
    os.write(terminal.leader, b"\x04")
    assert terminal.end() == (0, "One.\nTwo.\n")


def test_what_others_do_waits_until_a_question_is_answered(world):
    starts = [call_of("Agent", description="d", prompt="p", name=name) for name in ("asks", "works")]
    played = script_of_agents(
        world,
        {"content": starts},
        {"content": [said("Done.")]},
        of_agent("asks", call_of("Write", file_path="a.txt", content="x")),
        of_agent("asks", {"type": "text", "text": "1"}),
        of_agent("works", call_of("Bash", command="sleep 0.5; touch worked")),
        of_agent("works", {"type": "text", "text": "2"}),
    )
    terminal = Terminal(["run", "--replay", played, "--allow", "Bash", "Go"], world.work, world.env)
    terminal.until("Run it? [y/a/N/m] ")
    limit = time.monotonic() + 30
    while not (world.work / "worked").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    time.sleep(0.5)
    assert not select.select([terminal.leader], [], [], 0)[0], "nothing is written over the question"
    terminal.type("y")
    terminal.until('Bash command="sleep 0.5; touch worked"')
    assert terminal.end() == (0, "Done.\n")
