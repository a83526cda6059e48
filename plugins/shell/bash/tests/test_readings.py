"""Two readings of a command: where they may differ it asks, and a rule that denies sees both.

Each command of `readings.jsonl` was run: it `writes` a file, `tells` a secret, or does `nothing` of the kind.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from pegboard import Context, Facts
from pegboard.settings import load
from pegboard_bash import Bash, BashInput
from pegboard_bash.understanding import understand

ROWS = [json.loads(line) for line in (Path(__file__).parent / "data" / "readings.jsonl").read_text().splitlines()]
SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
HIDING = [row["command"] for row in ROWS if row["does"] == "writes"]
TELLING = [row["command"] for row in ROWS if row["does"] == "tells"]
HARMLESS = [row["command"] for row in ROWS if row["class"] == "harmless"]
FILES = {
    "w/a": "a\n",
    "w/b": "b\n",
    "w/secrets/key": "SECRET\n",
    "secret": "SECRET\n",
    "w/f01": "plain\n",
    "w/f0": "plain\n",
    "w/f02": "SECRET\n",
    "w/f3": "SECRET\n",
    "w/f03": "SECRET\n",
    "w/x=/.keep": "",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a working directory in it."""
    folder = tmp_path_factory.mktemp("home")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def readings(command, home):
    """Everything that rules that restrict see of a command."""
    parts = understand(command, home / "w", str(home)).facts.parts
    return [text for part in parts for text in (part.text, *part.also)]


@pytest.mark.parametrize("command", HIDING)
def test_what_one_reading_would_miss_is_not_taken_for_reading(command, home):
    for confined in (True, False):
        facts = understand(command, home / "w", str(home), confined=confined).facts
        assert not facts.read_only
        assert facts.reason.endswith(".")


@pytest.mark.parametrize("command", HIDING)
def test_a_deny_rule_sees_what_one_reading_would_miss(command, home):
    found = readings(command, home)
    assert any(text.split()[:1] == ["touch"] for text in found), found


@pytest.mark.parametrize("command", TELLING)
def test_a_path_rule_sees_the_file_or_the_command_asks(command, home):
    facts = understand(command, home / "w", str(home)).facts
    told = [path for path in facts.reads if path.is_file() and "SECRET" in path.read_text()]
    assert told or not facts.read_only, facts


@pytest.mark.parametrize(
    "word",
    [
        "f{1..03}",
        "f{01..3}",
        "x=~/secret",
        "x:~/a",
        "{,a}",
        '~"/a"',
        "~''",
        "{~/a,b}",
        "f$((1+2))",
        "f$?",
        "~+",
        "{a,{b,c}}",
    ],
)
def test_a_word_that_bash_may_make_something_else_of_is_not_known(word, home):
    facts = understand(f"cat {word}", home / "w", str(home)).facts
    assert facts.reason == f"The value of {word} is known only when it runs."


@pytest.mark.parametrize("command", HARMLESS)
def test_harmless_neighbours_are_still_taken_for_reading(command, home):
    facts = understand(command, home / "w", str(home)).facts
    assert facts.read_only, facts.reason


@pytest.mark.parametrize("name", ["BASHOPTS", "SHELLOPTS", "GLOBIGNORE", "POSIXLY_CORRECT", "BASH_FUNC_cat%%"])
def test_an_environment_that_changes_bash_is_doubt(name, home, monkeypatch):
    assert understand("cat a", home / "w").facts.read_only
    monkeypatch.setenv(name, "x")
    facts = understand("cat a", home / "w").facts
    assert facts.reason == f"{name} in the environment changes how bash parses commands."


@pytest.mark.parametrize(
    "command", ["cat a", "cat 'a' \"b\" | sort && ls; pwd", "cat < a 2>/dev/null", "ls 2>&1 | wc -l"]
)
def test_without_confinement_the_closed_subset_is_taken_for_reading(command, home):
    assert understand(command, home / "w", confined=False).facts.read_only


@pytest.mark.parametrize(
    "command", ["cat *", "cat $HOME/a", "(ls)", "LANG=C ls", "cat a\\ b", "! ls", "cat <<< a", "echo {a,b}"]
)
def test_without_confinement_nothing_else_is(command, home):
    facts = understand(command, home / "w", confined=False).facts
    assert facts.reason == "It is not confined, so only plain words, pipes and lists are considered read-only."


def test_what_two_readings_differ_on_is_one_part_that_only_its_own_text_allows(home):
    (part,) = understand("echo \\ #; touch x", home / "w").facts.parts
    assert (part.text, part.exact, part.read_only) == ("echo \\ #; touch x", True, False)
    assert "touch x" in part.also


def test_files_of_both_readings_are_named(home):
    facts = understand("echo \\ #; rm a; cat secrets/key", home / "w").facts
    assert home / "w" / "a" in facts.deletes
    assert home / "w" / "secrets" / "key" in facts.reads


@pytest.mark.skipif(not SLOW, reason="takes a while; PEGBOARD_TEST_SLOW=1 runs it")
def test_each_command_does_what_is_written_down(tmp_path):
    for row in ROWS:
        assert done(row["command"], tmp_path) == row["does"], row["command"]


def done(command, folder):
    """Run a command in a box and say what it did."""
    for each in (folder / "w").glob("*") if (folder / "w").exists() else ():
        each.unlink() if each.is_file() else None
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    before = sorted(os.listdir(folder / "w"))
    box = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    box += ["--bind", str(folder), "/tmp/b", "--unshare-all", "--die-with-parent", "--chdir", "/tmp/b/w"]
    shell = ["env", "-i", "PATH=/usr/bin:/bin", "HOME=/tmp/b", "timeout", "-s", "KILL", "3", "bash", "--norc", "-c"]
    ended = subprocess.run([*box, *shell, command], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if sorted(os.listdir(folder / "w")) != before:
        return "writes"
    return "tells" if b"SECRET" in ended.stdout + ended.stderr else "nothing"


async def test_bash_is_asked_away_from_the_event_loop(ctx):
    tool = Bash()
    assert isinstance(tool.facts(BashInput(command="cat a | wc"), ctx), Facts)
    later = tool.facts(BashInput(command="echo $(cat a) | wc"), ctx)
    assert not isinstance(later, Facts)
    assert (await later).read_only


def test_without_an_event_loop_nobody_waits_for_bash(home):
    ctx = Context(home / "w", load(home / "w", {"HOME": str(home)}, managed=str(home / "none")), "default")
    assert Bash().facts(BashInput(command="echo $(cat a) | wc"), ctx).read_only
