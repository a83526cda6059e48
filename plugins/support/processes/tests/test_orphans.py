"""What a killed host left running is ended by the next one; nothing else is ever touched."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from pegboard_hosts import host_id, tidy_up
from pegboard_processes.orphans import end_orphans, mark
from pegboard_processes.reaper import MARKER
from pegboard_processes.service import LocalProcesses

TAG = "PEGBOARD_TEST_TAG"
HOST = (
    "import anyio, sys\nfrom pathlib import Path\nfrom pegboard_processes.service import LocalProcesses\n"
    "from pegboard import ProcessSpec\n"
    "async def main():\n"
    "    async with LocalProcesses() as service:\n"
    "        spec = ProcessSpec(('sh', '-c', sys.argv[1]), Path('/'))\n"
    "        child = await service.start(spec, on_output=lambda data: print('on', flush=True))\n"
    "        await child.wait()\n"
    "anyio.run(main)\n"
)
STUBBORN = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 61' & echo on; sleep 60; sleep 60"


@pytest.fixture
def tag() -> str:
    """A mark of the test's own, by which it finds what the service may have forgotten."""
    return uuid4().hex


def alive(tag: str) -> list[int]:
    """All living processes with the test's mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and tag.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def until_gone(tag: str) -> None:
    deadline = time.monotonic() + 10
    while alive(tag):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory, and a folder for temporary files, of the test's own."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return tmp_path / "state" / "pegboard" / "hosts"


@pytest.fixture
def host(state: Path, tag: str) -> Iterator[subprocess.Popen[bytes]]:
    """A host with a command that does not want to end."""
    env = {**{name: value for name, value in os.environ.items() if name != MARKER}, TAG: tag}
    process = subprocess.Popen([sys.executable, "-c", HOST, STUBBORN], env=env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()
    tidy_up()
    until_gone(tag)


def end(host: subprocess.Popen[bytes]) -> None:
    host.kill()
    host.wait()


async def test_what_a_killed_host_left_is_ended_when_the_next_one_starts(host, tag, tmp_path, state):
    end(host)
    assert alive(tag) != []
    assert len(list(state.iterdir())) == 1
    async with LocalProcesses(tmp_path / "output").apart(sweeps=True):
        with anyio.fail_after(20):
            while alive(tag):
                await anyio.sleep(0.02)
    assert list(state.iterdir()) == []


def test_the_output_of_a_killed_host_is_removed(host, tmp_path):
    end(host)
    assert len(list((tmp_path / "tmp").glob("pegboard-output-*"))) == 1
    assert len(tidy_up()) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_a_living_host_runs_is_left_alone(host, tag, tmp_path, state):
    before = alive(tag)
    assert tidy_up() == []
    assert set(before) <= set(alive(tag))
    assert len(list(state.iterdir())) == 1
    assert len(list((tmp_path / "tmp").glob("pegboard-output-*"))) == 1


def test_a_killed_host_of_another_state_directory_is_none_of_our_business(host, tag, tmp_path, monkeypatch, caplog):
    end(host)
    before = alive(tag)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
        assert tidy_up() == []
    assert set(before) <= set(alive(tag))
    assert caplog.text == ""


def test_a_process_with_a_living_host_around_it_is_spared(host, tag, state):
    """The mark of a dead host beside that of a living one: the living one ends it when its own command ends."""
    end(host)
    stranger = subprocess.Popen(["sleep", "60"], env={MARKER: f"{mark('x')}:{dead_mark('feed')}"})
    try:
        assert stranger.pid not in end_orphans("feed", 0)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def dead_mark(host: str = "dead") -> str:
    """The mark of a host that is gone."""
    return f"{os.stat('/proc/self/ns/pid').st_ino}-4000000-5-{host}-abc"


def test_the_marked_process_of_a_dead_host_is_ended():
    left = subprocess.Popen(["sleep", "60"], env={MARKER: dead_mark("beef")}, start_new_session=True)
    try:
        deadline = time.monotonic() + 5
        while Path(f"/proc/{left.pid}/comm").read_text() != "sleep\n":
            assert time.monotonic() < deadline
        assert end_orphans("other", 0) == []
        assert end_orphans("beef", 0.5) == [left.pid]
        assert left.wait(5) == -signal.SIGTERM
    finally:
        left.kill()
        left.wait()


def test_what_an_orphan_starts_while_it_is_ended_is_ended_too(tag):
    script = "trap '' TERM; while :; do setsid sleep 60 & sleep 0.05; done"
    env = {MARKER: dead_mark("f00d"), TAG: tag, "PATH": os.environ["PATH"]}
    left = subprocess.Popen(["sh", "-c", script], env=env, start_new_session=True)
    try:
        deadline = time.monotonic() + 5
        while len(alive(tag)) < 3:
            assert time.monotonic() < deadline
        assert left.pid in end_orphans("f00d", 0.5)
        assert left.wait(5) == -signal.SIGKILL
        assert alive(tag) == []
    finally:
        left.kill()
        left.wait()
        for pid in alive(tag):
            os.kill(pid, signal.SIGKILL)


def test_we_and_all_that_we_run_in_are_never_taken_for_orphans():
    script = (
        "from pegboard_processes.orphans import mark, orphans; import os; "
        "print(os.getpid() in orphans('dead'), mark('own'))"
    )
    env = {**os.environ, MARKER: dead_mark()}
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -c "$0"; echo still here', script], env=env, capture_output=True, text=True
    )
    first, last = done.stdout.splitlines()
    assert first.startswith("False ")
    assert (":" in first, last) == (False, "still here")


def test_what_has_a_terminal_is_left_to_the_person_at_it():
    pid, leader = pty.fork()
    if pid == 0:
        os.execve("/bin/sleep", ["sleep", "60"], {MARKER: dead_mark()})
    try:
        deadline = time.monotonic() + 5
        while Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
            assert time.monotonic() < deadline
        assert pid not in end_orphans("dead", 0)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(leader)


@pytest.mark.parametrize("mark", ["nonsense", "1-2-3", "4026531836-1-x-dead-0", "1-999999-5-dead-aa", "-9-5-dead-aa"])
def test_a_mark_that_cannot_be_judged_spares_the_process(mark):
    stranger = subprocess.Popen(["sleep", "60"], env={MARKER: mark, "PATH": os.environ["PATH"]})
    try:
        assert stranger.pid not in end_orphans("dead", 0)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_mark_names_this_host():
    assert host_id() in mark("token").split(":")[-1].split("-")
