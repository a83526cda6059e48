"""The record of a host, and the tidy-up after a dead one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pegboard_hosts import host_id, note, tidy_up

LEAVES = """
import os, sys
from pegboard_hosts import note
for path in sys.argv[1:]:
    note("folder", path)
    os.mkdir(path)
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "pegboard" / "hosts"


def start(*paths: Path) -> subprocess.Popen[bytes]:
    """A host that leaves these folders unless it is told to end."""
    words = [sys.executable, "-c", LEAVES, *map(str, paths)]
    host = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    return host


def kill(host: subprocess.Popen[bytes]) -> None:
    host.kill()
    host.communicate()


def test_a_host_with_nothing_to_leave_has_no_record(state):
    first, second = note("folder", "/a"), note("folder", "/a")
    assert len(list(state.iterdir())) == 1
    first.done()
    first.done()
    assert len(list(state.iterdir())) == 1
    second.done()
    assert list(state.iterdir()) == []


def test_only_what_a_dead_host_left_is_removed(state, tmp_path):
    dead, living = start(tmp_path / "pegboard-dead"), start(tmp_path / "pegboard-living")
    kill(dead)
    try:
        assert len(tidy_up()) == 1
        assert sorted(path.name for path in tmp_path.glob("pegboard-*")) == ["pegboard-living"]
        assert tidy_up() == []
    finally:
        kill(living)
    assert len(tidy_up()) == 1
    assert list(tmp_path.glob("pegboard-*")) == []
    assert list(state.iterdir()) == []


def test_a_folder_that_is_not_ours_stays(state, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "pegboard-link").symlink_to(tmp_path / "work")
    state.mkdir(parents=True)
    lines = [{"host": "x", "pid": 1, "machine": os.uname().nodename}]
    lines += [{"made": "folder", "name": str(tmp_path / name)} for name in ("work", "pegboard-link", "pegboard-gone")]
    (state / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert tidy_up() == ["x"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pegboard-link", "state", "work"]


@pytest.mark.parametrize("text", ["", "{", "[]\n3\nnull\n", '{"host": "x"}\n{"gone": "folder"}\n', "\0\0\xff"])
def test_a_broken_record_is_removed(state, text):
    state.mkdir(parents=True)
    (state / "x.jsonl").write_bytes(text.encode("latin-1"))
    tidy_up()
    assert list(state.iterdir()) == []


def test_a_record_of_another_machine_is_left_alone(state):
    state.mkdir(parents=True)
    (state / "x.jsonl").write_text('{"host": "x", "pid": 1, "machine": "elsewhere.invalid"}\n')
    assert tidy_up() == []
    assert [path.name for path in state.iterdir()] == ["x.jsonl"]


def test_what_cannot_be_removed_here_is_kept_for_a_week(state):
    state.mkdir(parents=True)
    record = state / "x.jsonl"
    head = {"host": "x", "pid": 1, "machine": os.uname().nodename}
    record.write_text(json.dumps(head) + '\n{"made": "no-such-kind", "name": ""}\n')
    tidy_up()
    assert record.exists()
    os.utime(record, (1, 1))
    tidy_up()
    assert not record.exists()


def test_many_commands_that_start_at_once_tidy_up_once(state, tmp_path):
    hosts = [start(tmp_path / f"pegboard-{number}") for number in range(4)]
    for host in hosts:
        kill(host)
    done: list[str] = []
    threads = [threading.Thread(target=lambda: done.extend(tidy_up())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == len(set(done)) == 4
    assert list(tmp_path.glob("pegboard-*")) == []


def test_a_forked_child_is_another_host(state):
    mine = note("folder", "/a")
    child = os.fork()
    if child == 0:
        note("folder", "/b")
        os._exit(0 if host_id() != mine_id else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(state.iterdir())) == 2
    assert len(tidy_up()) == 1
    mine.done()
    assert list(state.iterdir()) == []


mine_id = host_id()


def test_nothing_is_noted_where_there_is_no_state_directory(monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    note("folder", "/a").done()
    assert tidy_up() == []


def test_a_tidy_up_with_nothing_to_do_costs_little(state):
    held = note("folder", "/a")
    best = 1.0
    for _ in range(20):
        began = time.perf_counter()
        tidy_up()
        best = min(best, time.perf_counter() - began)
    held.done()
    assert best < 0.001


FORKS = """
import os, sys, time
from pegboard_hosts import note
note("folder", sys.argv[1])
os.mkdir(sys.argv[1])
if os.fork() == 0:
    time.sleep(0.5)
    os._exit(0)
os.kill(os.getpid(), 9)
"""


def test_a_child_that_has_not_yet_run_its_program_does_not_hide_a_dead_host(state, tmp_path):
    left = tmp_path / "pegboard-left"
    subprocess.run([sys.executable, "-c", FORKS, str(left)], check=False)  # No pipe, so that the child is not awaited.
    assert len(tidy_up()) == 1
    assert not left.exists()
    assert not list(state.iterdir())
