"""How full the window is, in `pegboard run`, and that a shortened conversation is still shown whole."""

import json
import os
import subprocess
import sys

import pytest

from pegboard_testing.warm import warm


@pytest.fixture
def pegboard(tmp_path):
    home = tmp_path / "home" / ".pegboard"
    home.mkdir(parents=True)
    (home / "settings.json").write_text(
        json.dumps({"models": {"small": {"window": 20000, "maxOutput": 1000, "aliases": ["s"]}}})
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD", "XDG"))}

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "pegboard_cli", *words],
            cwd=tmp_path,
            env={**kept, "HOME": str(warm(tmp_path / "home"))},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return run


def script(tmp_path, *answers):
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(json.dumps({"content": [{"type": "text", "text": words}]}) for words in answers))
    return str(path)


def test_it_says_how_full_the_window_is(pegboard, tmp_path):
    played = script(tmp_path, "Hello.")
    done = pegboard("run", "Hi", "--model", "s", "--replay", played)
    [line] = [line for line in done.stderr.splitlines() if "context" in line]
    assert line.startswith("  context: ")
    assert line.endswith(" %)")
    assert " of 20,000 tokens (" in line
    said = json.loads(pegboard("run", "Hi", "--model", "s", "--replay", played, "--output-format", "json").stdout)
    assert said["context"]["window"] == 20000
    assert 1000 < said["context"]["tokens"] < 20000, "the definitions of tools count"


def test_nothing_is_said_about_a_window_that_is_unknown(pegboard, tmp_path):
    assert "context" not in pegboard("run", "Hi", "--model", "x", "--replay", script(tmp_path, "Hello.")).stderr


def test_a_compacted_session_is_listed_and_shown_whole(pegboard, tmp_path):
    long = "Many words. " * 2400
    for number in range(3):
        answers = [f"Answer {number}. {long}"] if number < 2 else ["SUMMARY", "Answer 2."]
        more = ["--tools", "Read", *(["--resume"] if number else [])]  # The window is for the words, not for tools.
        done = pegboard("run", f"Prompt {number}", "--model", "s", "--replay", script(tmp_path, *answers), *more)
        assert done.returncode == 0, done.stderr
    assert "compacted the conversation: " in done.stderr
    [listed] = json.loads(pegboard("sessions", "--json").stdout)
    assert (listed["messages"], listed["prompt"]) == (6, "Prompt 0")
    shown = pegboard("sessions", "show", listed["id"]).stdout
    assert all(f"Prompt {number}" in shown for number in range(3))
    assert "<summary>" not in shown
