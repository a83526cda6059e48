"""Hosts that are killed at any moment, and sandboxed runs that overlap: the next command finds and removes it all.

Each round is decided by its seed, which a failure names. The short form runs always; PEGBOARD_TEST_SLOW=1 the long one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from pegboard_sandbox import bubblewrap
from pegboard_testing.warm import warm

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
KILLS = 80 if SLOW else 3
OVERLAPS = 30 if SLOW else 2
TAG = "TEST_OF_FAULTS"

CALLS = [
    {"name": "Write", "input": {"file_path": "big.txt", "content": "line\n" * 200_000}},
    {"name": "Bash", "input": {"command": "(setsid sleep 300 &); sleep 0.2; echo done > made.txt"}},
    {"name": "Bash", "input": {"command": "trap '' TERM; sleep 300"}},
]


class Project:
    """A project with a sandbox, and a home and a folder for temporary files that nobody else uses."""

    def __init__(self, folder: Path, *, sandbox: bool) -> None:
        self.tag = uuid4().hex
        self.work, self.home, self.temporary = folder / "work", folder / "home", folder / "tmp"
        for place in (self.work, self.home / ".pegboard", self.temporary):
            place.mkdir(parents=True)
        (self.home / ".pegboard" / "settings.json").write_text(json.dumps({"sandbox": {"enabled": sandbox}}))
        (self.work / "kept.txt").write_text("kept\n")
        blocks = [{"content": [{"type": "tool_use", **call}]} for call in CALLS]
        (folder / "script.jsonl").write_text("\n".join(map(json.dumps, blocks)))
        self.script = str(folder / "script.jsonl")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEGBOARD", "XDG"))}
        self.env = {**kept, "HOME": str(warm(self.home)), "TMPDIR": str(self.temporary), TAG: self.tag}

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "pegboard_cli", *words],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def act(self) -> None:
        """The next command that acts, whatever it does; it uses no sandbox."""
        process = self.start("call", "Read", "file_path=kept.txt")
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()

    def alive(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and self.tag.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def left(self) -> dict[str, object]:
        """All that should not be there."""
        records = self.home / ".local/state/pegboard/hosts"
        expected = {"kept.txt", "big.txt", "made.txt"}
        return {
            "processes": self.alive(),
            "temporary": sorted(path.name for path in self.temporary.iterdir()),
            "tree": sorted({path.name for path in self.work.iterdir()} - expected),
            "records": sorted(path.name for path in records.iterdir()) if records.is_dir() else [],
        }


NOTHING = {"processes": [], "temporary": [], "tree": [], "records": []}


@pytest.fixture(params=["plain", "sandboxed"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    if request.param == "sandboxed" and (problem := bubblewrap.trouble(bubblewrap.find())):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    made = Project(tmp_path, sandbox=request.param == "sandboxed")
    yield made
    for pid in made.alive():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("seed", range(KILLS))
def test_after_a_kill_the_next_command_removes_everything(project, seed):
    chance = random.Random(seed)
    host = project.start("run", "Go", "--replay", project.script, "--allow", "Bash", "--allow", "Write")
    time.sleep(chance.uniform(0.2, 3.0))  # The moment is the point: there is nothing to wait for.
    host.kill()
    host.communicate()
    project.act()
    assert project.left() == NOTHING, f"seed {seed}"


@pytest.mark.parametrize("seed", range(OVERLAPS))
def test_runs_that_overlap_leave_nothing_when_the_last_one_is_over(project, seed):
    chance = random.Random(seed)
    hosts = []
    for _ in range(chance.randint(2, 4)):
        command = f"command=sleep {chance.uniform(0.0, 1.5):.2f}; touch made.txt"
        hosts.append(project.start("call", "Bash", "--yes", command))
        time.sleep(chance.uniform(0.0, 0.7))
    victims = [host for host in hosts if chance.random() < 0.3]
    for host in victims:
        time.sleep(chance.uniform(0.0, 0.5))
        host.kill()
    for host in hosts:
        host.communicate(timeout=60)
    if not victims:  # A host that was not the last one out keeps its record until the next command that acts.
        assert {**project.left(), "records": []} == NOTHING, f"seed {seed}"
    project.act()
    assert project.left() == NOTHING, f"seed {seed}"
    assert {host.returncode for host in hosts if host not in victims} <= {0}, f"seed {seed}"
