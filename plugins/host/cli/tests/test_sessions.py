"""Sessions know their folder: going on, forking, listing, and what is said about it."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest

from pegboard_cli.main import main


@pytest.fixture
def world(tmp_path, monkeypatch, capfd):
    """Folders to work in, and the command in them: its exit code and what it printed."""
    for name in list(os.environ):
        if name.startswith(("PEGBOARD_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    class World:
        transcripts = tmp_path / "home/.local/state/pegboard/transcripts"

        def run(self, *words, folder="a", answer="Answer."):
            (tmp_path / folder).mkdir(exist_ok=True)
            monkeypatch.chdir(tmp_path / folder)
            script = tmp_path / "script.jsonl"
            script.write_text(json.dumps({"content": [{"type": "text", "text": answer}]}) + "\n")
            scripted = ["--replay", str(script), "--only", "files,support,host"] if words[0] == "run" else []
            try:
                code = main([*words, *scripted])
            except SystemExit as usage:
                code = usage.code
            return code, *capfd.readouterr()

        def rows(self):
            return json.loads(self.run("sessions", "--json")[1])

    return World()


def test_continue_takes_the_last_session_of_this_folder(world):
    world.run("run", "First here", folder="a")
    world.run("run", "Over there", folder="b")
    code, _, err = world.run("run", "--continue", "Second here", folder="a", answer="Again.")
    assert code == 0
    assert re.search(r"Continuing session [0-9a-f]{12}: 1 prompt, last used .*\n  > First here\n  Answer\.\n", err)
    rows = {row["prompt"]: row for row in world.rows()}
    assert {prompt: row["prompts"] for prompt, row in rows.items()} == {"First here": 2, "Over there": 1}
    assert [os.path.basename(rows[prompt]["folder"]) for prompt in ("First here", "Over there")] == ["a", "b"]
    code, _, err = world.run("run", "--resume", "And third", folder="a")
    assert "2 prompts" in err


def test_a_folder_without_a_session_says_so(world, tmp_path):
    world.run("run", "Here", folder="a")
    code, out, err = world.run("run", "--continue", "Go", folder="b")
    assert (code, out) == (1, "")
    assert err == f"pegboard: There is no session in {tmp_path}/b yet. `pegboard sessions` lists the saved sessions.\n"


def test_a_session_without_a_prompt_is_not_the_last_one(world):
    world.run("run", "Here", folder="a")
    empty = {"type": "session", "id": "x", "folder": os.getcwd(), "cwd": os.getcwd()}
    (world.transcripts / f"{'f' * 32}.jsonl").write_text(json.dumps(empty, separators=(",", ":")) + "\n")
    code, _, err = world.run("run", "--continue", "Go", folder="a")
    assert (code, "> Here" in err) == (0, True)


def test_a_fork_leaves_the_session_as_it_was(world):
    world.run("run", "Here")
    [first] = world.transcripts.glob("*.jsonl")
    before = first.read_bytes()
    _, _, err = world.run("run", "--continue", "--fork", "Elsewhere")
    assert "Continuing a copy of session" in err
    assert first.read_bytes() == before
    assert sorted(row["prompts"] for row in world.rows()) == [1, 2]


def test_the_id_is_printed_at_the_end_and_leads_back(world):
    _, out, err = world.run("run", "Here")
    assert out == "Answer.\n"
    [(whole, beginning)] = re.findall(
        r"^Session ([0-9a-f]{32})\. Continue with: pegboard run --resume (\w+)$", err, re.M
    )
    assert whole.startswith(beginning)
    code, _, err = world.run("run", "--resume", beginning, "Go", folder="b")
    assert (code, "> Here" in err) == (0, True)


def test_programs_get_the_id_as_data_and_no_lines(world):
    world.run("run", "Here")
    _, out, err = world.run("run", "--continue", "Go", "--output-format", "json")
    assert json.loads(out)["session_id"]
    assert err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fork", "Go"), "--fork needs --resume or --continue"),
        (("--continue", "--resume", "abc", "Go"), "Give one of them"),
    ],
)
def test_options_that_do_not_go_together(world, words, said):
    code, _, err = world.run("run", *words)
    assert (code, said in err) == (2, True)


def test_the_list_shows_folder_prompts_cost_and_first_prompt(world, tmp_path):
    price = {"input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 1}
    (tmp_path / "p.json").write_text(json.dumps({"prices": {"*": price}}))
    world.run("run", "Here", "--settings", str(tmp_path / "p.json"))
    _, out, _ = world.run("sessions")
    head, row = out.splitlines()
    assert head.split() == ["ID", "WHEN", "PROMPTS", "COST", "FOLDER", "FIRST", "PROMPT"]
    assert re.search(rf"^[0-9a-f]{{12}}  \S+ \S+  1        0\.0000  {tmp_path}/a  Here$", row)


def test_prompt_show_prints_each_part_with_its_size(world, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/CLAUDE.md").write_text("Use tabs.")
    words = ("--effort", "high", "--append-system-prompt", "More.", "--model", "sonnet")
    code, out, _ = world.run("prompt", "show", "--json", *words)
    shown = json.loads(out)
    assert code == 0
    assert [part["name"] for part in shown["system"] if part["name"] != "guidance"] == [
        *("instructions", "appended", "environment")
    ]
    assert all(part["tokens"] == -(-len(part["text"]) // 4) for part in shown["system"])
    assert shown["reminders"][-1]["name"] == f"Instructions in {tmp_path}/a/CLAUDE.md (the project's):"
    assert (shown["model"], shown["options"]) == ("claude-sonnet-5-5", {"effort": "high"})
    assert shown["tokens"] > sum(tool["tokens"] for tool in shown["tools"]) > 0
    listed = {row["name"]: row["tokens"] for row in json.loads(world.run("tools", "--json")[1])}
    assert {tool["name"]: tool["tokens"] for tool in shown["tools"]}.items() <= listed.items()
    code, out, _ = world.run("prompt", "show", *words)
    assert re.search(r"^## system: appended \(about 2 tokens\)\nMore\.$", out, re.M)
    assert f"## first message: Instructions in {tmp_path}/a/CLAUDE.md (the project's): (about" in out
    assert not world.transcripts.exists()


def test_prompt_show_has_everything_that_the_first_message_says(world, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/schema.json").write_text('{"type": "object", "title": "Sum"}')
    (tmp_path / "a/CLAUDE.md").write_text("Use tabs.")
    words = ("--provider", "openai", "--model", "m", "--json-schema", "schema.json")
    (tmp_path / "m.json").write_text('{"models": {"m": {"supports": {"structured_output": false}}}}')
    code, out, _ = world.run("prompt", "show", "--json", *words, "--settings", str(tmp_path / "m.json"))
    shown = json.loads(out)
    assert (code, shown["model"]) == (0, "m")
    assert '"title": "Sum"' in shown["reminders"][-1]["text"]
    first = shown["reminders"][0]["name"]
    assert first == "The user and the project keep instructions for you in files, shown below."
    code, _, err = world.run("prompt", "show", "--provider", "opnai")
    assert (code, "There is no provider 'opnai'. Did you mean 'openai'?" in err) == (5, True)
    code, _, err = world.run("prompt", "show", *words, "--thinking", "2000")
    assert (code, "The model m does not support thinking with a token budget." in err) == (2, True)


def test_thinking_is_dimmed_on_a_terminal(tmp_path):
    blocks = [{"type": "thinking", "thinking": "Let me see.", "signature": "s"}, {"type": "text", "text": "Hi."}]
    (tmp_path / "s.jsonl").write_text(json.dumps({"content": blocks}) + "\n")
    argv = [sys.executable, "-m", "pegboard_cli", "run", "Go", "--replay", "s.jsonl", "--only", "files,support,host"]
    main_end, end = pty.openpty()
    env = {**os.environ, "HOME": str(tmp_path), "TERM": "xterm"}
    done = subprocess.run(argv, cwd=tmp_path, env=env, stdin=end, stdout=end, stderr=end, timeout=60)
    os.close(end)
    seen = b""
    try:
        while more := os.read(main_end, 65536):
            seen += more
    except OSError:  # How the end of a terminal is reported.
        pass
    os.close(main_end)
    assert done.returncode == 0
    assert re.search(rb"\x1b\[2;3mLet me see\.\x1b\[0m", seen)
    piped = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (piped.stdout, b"Let me see" in piped.stderr) == (b"Hi.\n", False)
