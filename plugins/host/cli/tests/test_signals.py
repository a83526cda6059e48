"""Ctrl-C, SIGTERM and SIGHUP: every command stops, cleans up whatever else comes, and says so by its exit code."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from pegboard_testing.warm import warm

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
ROUNDS = 60 if SLOW else 4
TAG = "TEST_OF_SIGNALS"
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
STUBBORN = "trap '' TERM HUP INT; (setsid sleep 300 &); touch begun; sleep 300; sleep 300"


def _restore() -> None:
    """Whoever runs the tests in the background of a shell has Ctrl-C ignored."""
    for number in CODES:
        signal.signal(number, signal.SIG_DFL)


STREAMS = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}


class World:
    """A project, a home, a folder for temporary files, and commands in them."""

    def __init__(self, folder: Path) -> None:
        self.tag = uuid4().hex
        self.work, self.home, self.temporary = folder / "work", folder / "home", folder / "tmp"
        for place in (self.work, self.home, self.temporary):
            place.mkdir()
        script = [{"content": [{"type": "tool_use", "name": "Bash", "input": {"command": STUBBORN}}]}]
        self.script = folder / "script.jsonl"
        self.script.write_text("\n".join(map(json.dumps, script)))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD", "XDG"))}
        self.env = {**kept, "HOME": str(warm(self.home)), "TMPDIR": str(self.temporary), TAG: self.tag}

    def start(self, command: str, **options: object) -> subprocess.Popen[str]:
        words = {
            "run": ["run", "Go", "--replay", str(self.script), "--allow", "Bash"],
            "call": ["call", "Bash", "--yes", f"command={STUBBORN}"],
        }[command]
        return subprocess.Popen(
            [sys.executable, "-m", "pegboard_cli", *words],
            cwd=self.work,
            env=self.env,
            text=True,
            **{**STREAMS, "preexec_fn": _restore, **options},
        )

    def begun(self) -> None:
        deadline = time.monotonic() + 30
        while not (self.work / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def alive(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and self.tag.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def left(self) -> list[str]:
        """What lies where nothing should: temporary files and records of hosts."""
        records = self.home / ".local/state/pegboard/hosts"
        places = [*self.temporary.iterdir(), *(records.iterdir() if records.is_dir() else ())]
        return sorted(path.name for path in places)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    for pid in made.alive():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", CODES)
def test_call_stops_and_leaves_nothing(world, number):
    process = world.start("call")
    world.begun()
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, world.alive(), world.left()) == (CODES[number], [], [])
    assert "Traceback" not in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_run_stops_and_leaves_nothing(world, number):
    process = world.start("run")
    world.begun()
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, world.alive(), world.left()) == (CODES[number], [], [])
    assert "Traceback" not in errors


def test_a_signal_that_the_caller_ignores_stays_ignored(world):
    process = world.start("call", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    world.begun()
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143


@pytest.mark.parametrize("command", ["run", "call"])
def test_closing_the_terminal_ends_what_runs_in_it(world, command):
    leader, terminal = pty.openpty()
    process = world.start(
        command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, preexec_fn=_take_terminal
    )
    os.close(terminal)
    world.begun()
    os.close(leader)
    assert process.wait(30) == 129
    assert (world.alive(), world.left()) == ([], [])


def _take_terminal() -> None:
    import fcntl
    import termios

    _restore()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def until_handled(process: subprocess.Popen[str]) -> None:
    """Wait until the command listens for SIGTERM: nothing can be done about what comes earlier."""
    deadline = time.monotonic() + 30
    while True:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_no_storm_of_signals_breaks_the_clean_up(world, seed):
    chance = random.Random(seed)
    process = world.start(chance.choice(["run", "call"]))
    if chance.random() < 0.7:
        world.begun()
    else:
        until_handled(process)
        time.sleep(chance.uniform(0.0, 0.6))
    numbers = []
    while process.poll() is None and len(numbers) < 40:
        numbers.append(chance.choice(list(CODES)))
        process.send_signal(numbers[-1])
        time.sleep(chance.uniform(0.0, 0.1))
    _, errors = process.communicate(timeout=30)
    told = f"seed {seed}: {numbers} {errors}"
    assert process.returncode in CODES.values(), told
    assert "Traceback" not in errors, told
    assert (world.alive(), world.left()) == ([], []), told
