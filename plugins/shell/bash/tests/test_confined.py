"""Commands that run because they only read are held to reading, whatever they turn out to be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from pegboard import Call
from pegboard.settings import Layer, Settings
from pegboard_bash import Program, programs, simple
from pegboard_bash.confinement import HELD, confinement, diagnosis
from pegboard_confine import HELPER, available

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "data" / "commands.jsonl").read_text().splitlines()]
MOMENTARY = re.compile(r"(?:ps|time|uptime|free|top|date|vmstat)\b")
"""What says something else each time cannot be compared."""
READING = [row["command"] for row in CORPUS if row["verdict"] == "read_only"]
pytestmark = pytest.mark.skipif(not available("landlock"), reason=f"no Landlock: {available('landlock').why}")


@pytest.fixture
def sh_is_a_reader(monkeypatch):
    """A table that is as wrong as it can be."""
    programs.program_of("sh")  # reads the table, which would come over what is put there now
    monkeypatch.setattr(simple, "SHELLS", frozenset())
    monkeypatch.setitem(programs._programs, "sh", Program("-c:"))


@pytest.fixture
def bash(board, ctx):
    """Call Bash with nobody there to approve anything."""

    def call(command, where=ctx, **more):
        return anyio.run(board.dispatch, Call("1", "Bash", {"command": command, **more}), where)

    return call


def alive_with(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if any(mark.encode() in (entry / name).read_bytes() for name in ("environ", "cmdline")):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def having(ctx, name="user", **values):
    """The same context with a setting."""
    given = {key.replace("__", "."): value for key, value in values.items()}
    return replace(ctx, settings=Settings([Layer(name, name, given), *ctx.settings.layers], cwd=ctx.settings.cwd))


def test_a_reader_runs_confined(bash):
    result = bash("echo $TMPDIR")
    assert result.decision.layer == "read-only"
    assert "/pegboard-confined-" in result.text


def test_what_a_person_approved_does_not(bash, approve):
    result = bash("touch made; echo $TMPDIR")
    assert (result.is_error, result.decision.layer) == (False, "ask")
    assert "pegboard-confined" not in result.text


def test_what_a_rule_allows_does_not(bash, ctx):
    result = bash("echo $TMPDIR", having(ctx, permissions__allow=["Bash(echo *)"]))
    assert result.decision.layer == "rules"
    assert "pegboard-confined" not in result.text


def test_what_a_mode_allows_does_not(bash, ctx):
    result = bash("echo $TMPDIR", replace(ctx, mode="bypassPermissions"))
    assert result.decision.layer == "mode"
    assert "pegboard-confined" not in result.text


ATTACKS = (
    "cp a.txt made.txt",
    "rm a.txt",
    "mv a.txt b.txt",
    "chmod 777 a.txt",
    "touch -d 2000-01-01 a.txt",
    "cat ../outside.txt",
    "cat /proc/$PPID/environ",
    "kill -0 $PPID",
    "exec 3<>/dev/tcp/127.0.0.1/80",
    "git init -q . && ls .git/HEAD",
    "cat secrets/key",
    "cat deep/er/.env",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_confinement_holds_when_the_shell_itself_is_taken_for_a_reader(attack, sh_is_a_reader, bash, ctx):
    (ctx.cwd / "a.txt").write_text("a\n")
    (ctx.cwd.parent / "outside.txt").write_text("KEY\n")
    for name in ("secrets/key", "deep/er/.env"):
        (ctx.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (ctx.cwd / name).write_text("KEY\n")
    before = {path: (path.lstat().st_mode, path.lstat().st_mtime) for path in ctx.cwd.rglob("*")}
    denying = having(ctx, permissions__deny=["Read(./secrets/**)", "Read(.env)"])
    result = bash(f"sh -c '{attack}'", denying)
    assert (result.decision.word, result.decision.layer) == ("allow", "read-only")
    assert result.is_error
    assert "KEY" not in result.text
    assert {path: (path.lstat().st_mode, path.lstat().st_mtime) for path in ctx.cwd.rglob("*")} == before


def test_what_fails_because_of_it_offers_to_ask(sh_is_a_reader, bash, ctx, answers):
    result = bash("sh -c 'touch made'")
    assert result.text.endswith(HELD)
    again = bash("sh -c 'touch made'", dangerouslyDisableSandbox=True)
    assert again.code == "permission_denied"
    assert "It asks to run unconfined, unlike other commands that only read." in again.text
    assert not (ctx.cwd / "made").exists()


def test_the_offer_is_a_real_one(sh_is_a_reader, bash, ctx, approve):
    assert not bash("sh -c 'touch made'", dangerouslyDisableSandbox=True).is_error
    assert (ctx.cwd / "made").exists()


def test_an_ordinary_failure_offers_nothing(bash):
    result = bash("ls gone")
    assert result.is_error
    assert HELD not in result.text


def test_a_directory_is_carried_from_a_confined_command(bash, ctx):
    (ctx.cwd / "sub").mkdir()
    assert bash("cd sub").change.cwd == ctx.cwd / "sub"


def test_its_time_ends_the_whole_tree(sh_is_a_reader, bash):
    mark = f"PEGBOARD_TEST_{time.monotonic_ns()}"
    began = time.monotonic()
    result = bash(f"sh -c 'export {mark}=1; sleep 60 & setsid sleep 60 & sleep 60'", timeout=400)
    assert result.code == "timeout"
    assert time.monotonic() - began < 20
    assert alive_with(mark) == []


def test_cancelling_ends_the_whole_tree(sh_is_a_reader, board, ctx):
    mark = f"PEGBOARD_TEST_{time.monotonic_ns()}"
    command = f"sh -c 'export {mark}=1; setsid sleep 60 & sleep 60'"

    async def cancelled():
        with anyio.move_on_after(0.5):
            await board.dispatch(Call("1", "Bash", {"command": command}), ctx)

    anyio.run(cancelled)
    assert alive_with(mark) == []


def test_a_helper_that_was_killed_is_not_noticed(bash):
    bash("true")
    os.kill(HELPER.pid, 9)
    assert not bash("true").is_error


def test_too_much_output_ends_it(bash, ctx):
    result = bash("seq 1 100000", having(ctx, bash__readers__maxOutputBytes=1000))
    assert result.code == "too_large"


def test_too_much_memory_ends_it(sh_is_a_reader, bash, ctx):
    command = "sh -c 'head -c 300000000 /dev/zero | tail -c 290000000 | wc -c'"
    assert "290000000" in bash(command).text
    result = bash(command, having(ctx, bash__readers__maxMemoryMb=50))
    assert "290000000" not in result.text


def test_a_repository_cannot_switch_it_off(bash, ctx):
    for name in ("project", "local"):
        assert "pegboard-confined" in bash("echo $TMPDIR", having(ctx, name, bash__confine="off")).text


def test_switched_off_only_plain_commands_are_approved(bash, ctx):
    off = having(ctx, bash__confine="off")
    plain, more = bash("ls -l", off), bash("echo $TMPDIR", off)
    assert (plain.decision.word, more.decision.word) == ("allow", "deny")
    assert "It is not confined" in more.text
    assert diagnosis(off.settings)[0].startswith("Commands that run because they only read are not confined: it is")
    assert confinement(off.settings).kind == "none"


def test_rules_that_cannot_be_held_ask(bash, ctx, monkeypatch):
    monkeypatch.setattr("pegboard_confine.survey.MOST_ENTRIES", 3)
    for number in range(5):
        (ctx.cwd / f"{number}.txt").write_text("x")
    result = bash("ls", having(ctx, permissions__deny=["Read(.env)"]))
    assert result.code == "permission_denied"
    assert "It cannot be confined to what it may read" in result.text


def test_a_sandbox_leaves_the_confinement_alone(bash, ctx):
    settings = {"sandbox.enabled": True, "sandbox.autoAllowBashIfSandboxed": False, "sandbox.failIfUnavailable": False}
    (ctx.cwd / "hidden").mkdir()
    (ctx.cwd / "hidden/key").write_text("KEY\n")
    settings["sandbox.filesystem.denyRead"] = ["hidden"]
    result = bash("echo $TMPDIR; cat hidden/key", having(ctx, **settings))
    assert "/pegboard-confined-" in result.text
    assert "KEY" not in result.text


def test_a_reader_may_read_elsewhere_what_a_rule_allows(bash, ctx):
    outside = ctx.cwd.parent / "elsewhere.txt"
    outside.write_text("elsewhere\n")
    result = bash(f"cat {outside}", having(ctx, permissions__allow=[f"Read(/{outside})"]))
    assert (result.decision.word, result.text) == ("allow", "elsewhere")


def test_harmless_commands_say_the_same_confined_as_unconfined(bash, board, repository, ctx):
    """At least 95 of 100, and the rest by name: these differ in what is not granted."""
    # Packages that are installed in place are read where they are developed.
    here = replace(
        ctx,
        cwd=repository,
        roots=(Path(sys.prefix).parent,),
        settings=Settings(ctx.settings.layers, cwd=str(repository)),
    )
    free = having(here, permissions__allow=["Bash"])
    approved, differing, momentary = 0, [], []
    for command in READING:
        confined = bash(command, here)
        if confined.decision.layer != "read-only":
            continue
        approved += 1
        if MOMENTARY.match(command):
            momentary.append(command)
            continue
        plain = bash(command, free)
        assert plain.decision.layer == "rules"
        if confined.text != plain.text:
            differing.append((command, confined.text, plain.text))
    assert approved > 0.9 * len(READING)
    compared = approved - len(momentary)
    assert len(differing) <= 0.05 * compared, json.dumps(differing, indent=1)


def test_why_says_it(tmp_path):
    done = subprocess.run(
        ["pegboard", "why", "Bash", "command=ls", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["facts"]["confinement"].startswith("It runs confined by ")
