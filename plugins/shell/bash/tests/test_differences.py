"""Commands made up from bash's grammar: what runs without asking must not do any harm when it runs.

See docs/explanation/hunting-differences.md. `PEGBOARD_TEST_SLOW=1` tries 200,000 commands instead of 1,500;
`PEGBOARD_TEST_SEED` repeats a run. `python -m generator` in this folder does the same from the command line.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from generator.box import Box, why_unavailable
from generator.campaign import Campaign, Trial, harm_of, trial_of
from generator.commands import command
from generator.judging import Judge
from generator.world import CANARIES, OPTION_WORLDS, WORLDS, make_worlds

from pegboard_testing.warm import warm

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
COUNT = 200_000 if SLOW else 1_500
FIXED = 0 if SLOW else 750
"""How many of them are the same each time, so that most changes meet the same commands twice."""

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable())


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("differences").resolve() / "b"
    make_worlds(folder)
    return folder


@pytest.fixture(scope="module")
def box(base):
    with Box(base) as made:
        yield made


@pytest.fixture(scope="module")
def home(base):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(base / "home"))
        yield base / "home"


def seeds():
    """Some that are the same each time, and some that never were before."""
    first = int(os.environ.get("PEGBOARD_TEST_SEED") or secrets.randbelow(10**9) * 1000)
    return [*range(FIXED), *range(first, first + COUNT - FIXED)]


@pytest.mark.timeout(36_000 if SLOW else 600)
def test_what_is_approved_does_no_harm(base, box, home, record_property):
    wanted = seeds()
    record_property("seeds", f"{wanted[FIXED]} to {wanted[-1]}")
    campaign = Campaign(base, box)
    tally = anyio.run(campaign.run, wanted, 20)
    said = "\n".join(map(str, tally.findings))
    assert not tally.findings, f"{tally}; PEGBOARD_TEST_SEED={wanted[FIXED]}\n{said}"
    assert not tally.slow, [f"{seconds:.1f} s: seed {trial.seed}" for trial, seconds in tally.slow]
    assert tally.approved * 10 >= tally.generated, f"too few to show anything: {tally}"


HARM = [
    ("touch PWNED", "wrote"),
    ("echo x >> notes.txt", "wrote"),
    ("chmod +x notes.txt", "wrote"),
    ("rm notes.txt", "wrote"),
    ("ln -s a b", "wrote"),
    ("touch ~/x", "wrote"),
    ("rmdir sub/x/..; mkdir d; rmdir d", "wrote"),
    ("(sleep 0.2; touch PWNED) & wait", "wrote"),
    ("./evil", "executed"),
    ("sh evil", "executed"),
    (". ./hooks/post-checkout", "executed"),
    ("git -c core.fsmonitor=./evil status", "executed"),
    ("echo x > /dev/tcp/127.0.0.1/8099", "network"),
    ("echo x > /dev/udp/127.0.0.1/8099", "network"),
    ("rpm -qp http://127.0.0.1/x.rpm", "network"),
    ("cat ../outside/secret", "read outside"),
    ("wc -l < ~/secret", "read outside"),
    ("grep -q x ../outside/secret", "read outside"),
    ("cat /proc/$PPID/environ", "read outside"),
    ("head -c 1 secrets/key | tr -d C", "read denied"),
    ("git show HEAD:secrets/key", "read denied"),
]


@pytest.mark.parametrize(("text", "kind"), HARM)
def test_the_box_notices_harm(box, text, kind):
    if text.startswith("rpm") and os.path.exists("/usr/bin/rpm"):
        pytest.skip("the real rpm is installed here")
    finding = harm_of(Trial(0, text, "plain", "default"), box.run("plain", text, {}))
    assert finding is not None
    assert kind in finding.kinds


@pytest.mark.parametrize("world", [*WORLDS, *OPTION_WORLDS])
@pytest.mark.parametrize(
    "text", ["true", "ls -la", "pwd; echo *", "sort < /dev/null", "find . -name x", "cat n notes.txt"]
)
def test_the_box_sees_no_harm_in_reading(box, world, text):
    outcome = box.run(world, text, {})
    assert harm_of(Trial(0, text, world, "default"), outcome) is None


def test_the_box_is_as_before_after_harm(box):
    assert box.run("plain", "rm -rf notes.txt src; touch x", {}).changed
    assert not box.run("plain", "cat notes.txt src/app.py && ! test -e x", {}).changed


def test_what_a_command_leaves_running_is_ended(box):
    box.run("plain", "(sleep 3; touch PWNED) > /dev/null 2>&1 & disown", {})
    assert not box.run("plain", "sleep 0.5", {}).changed


def test_a_command_that_does_not_end_is_ended(box):
    assert box.run("plain", "tail -f notes.txt", {}).timed_out
    assert box.run("plain", "yes", {}).kinds == ()


def test_edits_of_the_project_are_harm_only_where_they_are_protected(box):
    def harm(text):
        return harm_of(Trial(0, text, "plain", "acceptEdits"), box.run("plain", text, {}))

    assert harm("cp notes.txt new.txt; rm nums.txt") is None
    assert harm("echo x >> .git/config").kinds == ("wrote",)
    assert harm("touch ../outside/x").kinds == ("wrote",)
    assert harm("touch .bashrc").kinds == ("wrote",)


def test_the_same_seed_makes_the_same_command_in_another_process():
    script = "import json; from generator.commands import command; print(json.dumps([command(n) for n in range(200)]))"
    for hashes in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(Path(__file__).parent)}
        ran = subprocess.run([sys.executable, "-c", script], env=env, check=True, capture_output=True, text=True)
        assert json.loads(ran.stdout) == [command(number) for number in range(200)]


SYNTAX = {
    "single quotes": r"'[^']*'",
    "double quotes": r'"[^"]*"',
    "ansi quotes": r"\$'",
    "translated quotes": r'\$"',
    "escapes": r"\\[^\n]",
    "line continuations": r"\\\n",
    "comments": r"(^|\s)#",
    "parameters": r"\$\{?\w",
    "operators of parameters": r"\$\{\w+[:/#@%\[]",
    "commands in words": r"\$\([^(]",
    "backticks": r"`[^`]+`",
    "arithmetic": r"\$\(\(|\(\(",
    "old arithmetic": r"\$\[",
    "processes as files": r"[<>]\(",
    "braces": r"\{\w*,\w*|\{\w+\.\.",
    "tildes": r"~",
    "wildcards": r"[*?]",
    "classes": r"\[\[:\w+:\]|\[!|\[\^",
    "extended patterns": r"[@+!?*]\(",
    "here-documents": r"<<-?\s*[^<\s]",
    "here-strings": r"<<<",
    "redirects": r"\d?>{1,2}&?|<>|>\|",
    "tests": r"(^|\s)\[ ",
    "conditions": r"\[\[ ",
    "case": r"\bcase\b.*\besac\b",
    "loops": r"\b(for|while|until)\b.*\bdone\b",
    "functions": r"\bf\(\)|function f",
    "subshells": r"\( .* \)",
    "groups": r"\{ .*; \}",
    "coprocesses": r"\bcoproc\b",
    "negation": r"(^|\s)! ",
    "background": r" & ",
    "non-ASCII": r"[^\x00-\x7f]",
    "wrappers": r"\b(timeout|env|nice|command)\b",
    "later arguments": r"\bxargs\b",
    "awk": r"awk .*'",
    "sed": r"\bsed ",
    "find": r"\bfind ",
    "git": r"\bgit ",
    "tar": r"\btar ",
    "sort": r"\bsort ",
}


def test_the_grammar_covers_the_syntax_of_bash():
    made = [command(number) for number in range(6_000)]
    counts = {name: sum(bool(re.search(pattern, text, re.S)) for text in made) for name, pattern in SYNTAX.items()}
    assert [name for name, count in counts.items() if count < 10] == []


def test_the_command_line_decides_as_the_function_does(base, home, tmp_path):
    trials = [trial for trial in map(trial_of, range(400)) if len(trial.command) < 5_000]
    lines = [
        {
            "tool": "Bash",
            "input": {"command": trial.command},
            "cwd": str(base / trial.world / "repo"),
            "mode": trial.mode,
        }
        for trial in trials
    ]
    env = {"HOME": str(warm(home)), "PATH": os.environ["PATH"]}
    for world in {trial.world for trial in trials}:
        trusted = [sys.executable, "-m", "pegboard_cli", "trust", str(base / world / "repo")]
        subprocess.run(trusted, env=env, check=True, capture_output=True)
    ran = subprocess.run(
        [sys.executable, "-m", "pegboard_cli", "why", "--batch", "-"],
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        env=env,
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    judge = Judge(base)

    async def decided() -> list[bool]:
        return [(await judge.decide(trial.command, trial.world, trial.mode)).approved for trial in trials]

    approved = [each.get("decision") == "allow" for each in said]
    differing = [t.command for t, one, other in zip(trials, approved, anyio.run(decided), strict=True) if one != other]
    assert not differing
    assert sum(approved) >= 40


def test_the_canaries_are_in_no_command():
    assert not any(canary in command(number) for number in range(2_000) for canary in CANARIES.values())
