"""What stands in for missing paths: there while a run relies on it, and gone afterwards, whatever happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import anyio
import pytest

from pegboard import ProcessSpec, ToolError
from pegboard_hosts import tidy_up
from pegboard_sandbox import hooks
from pegboard_sandbox.ledger import Ledger

HOST = """
import os, sys
from pathlib import Path
import anyio
from pegboard import Context, ProcessSpec
from pegboard_processes.service import LocalProcesses
from pegboard.settings import Layer, Settings
from pegboard_hosts import tidy_up
from pegboard_sandbox import hooks

root = Path(sys.argv[1])
ctx = Context(root, settings=Settings([Layer("user", "user", {"sandbox.enabled": True})], cwd=str(root)))

async def wrap(spec):
    return hooks.wrap_process(spec, ctx) or spec

async def main():
    spec = ProcessSpec(("sh", "-c", sys.argv[2]), root, writable=(root,), keep_output=False)
    await LocalProcesses(wrap=wrap).run(spec, on_output=lambda data: os.write(1, data))

anyio.run(main)
"""


def start_host(box, script):
    """Another host, in a process of its own, that runs a command in the same project."""
    return subprocess.Popen([sys.executable, "-c", HOST, str(box.root), script], stdout=subprocess.PIPE)


async def swept(tree, wanted):
    ledger = Ledger.of(os.environ)
    with anyio.fail_after(20):
        while sorted(tree()) != wanted:
            ledger.sweep()
            await anyio.sleep(0.05)
    return ledger


async def test_a_host_that_is_killed_leaves_nothing_after_the_next_start(box, state, tree):
    subprocess.run(["git", "init", "-q", str(box.root)], check=True)
    before = sorted(tree())
    host = start_host(box, "echo on; exec sleep 1000")
    assert host.stdout.readline() == b"on\n"
    assert {".vscode", ".git/commondir", ".config/git"} <= set(tree())
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    await swept(tree, before)
    assert [path.name for path in state.iterdir()] == ["lock"]


async def test_what_a_person_put_into_a_stand_in_stays(box, tree):
    host = start_host(box, "echo on; exec sleep 1000")
    assert host.stdout.readline() == b"on\n"
    (box.root / ".vscode" / "mine").write_text("put here by a person")
    host.kill()
    host.wait()
    host.stdout.close()
    await swept(tree, [".vscode", ".vscode/mine"])


async def test_an_empty_folder_of_the_user_is_held_and_stays(box, tree):
    (box.root / ".vscode").mkdir()
    assert "settings.json: " in await box.sh("echo evil > .vscode/settings.json")
    assert tree() == {".vscode": "/"}


async def test_another_host_removes_nothing_that_a_run_relies_on(box, tree):
    os.mkfifo(box.root / "go")
    host = start_host(box, "echo on; read x < go; mkdir -p .vscode; echo evil > .vscode/evil; echo evil > .envrc; true")
    assert host.stdout.readline() == b"on\n"
    ledger = Ledger.of(os.environ)
    ledger.sweep()
    assert (box.root / ".vscode").is_dir()
    assert await box.sh("true") == ""
    assert (box.root / ".vscode").is_dir()
    (box.root / "go").write_text("now\n")
    host.wait(20)
    host.stdout.close()
    (box.root / "go").unlink()
    await swept(tree, [])


async def test_many_runs_at_once_in_one_folder(box, tree):
    async def run(number: int) -> None:
        said = await box.sh(f"echo {number} > n{number}; echo evil > .envrc; mkdir .vscode/x; cat n{number}")
        assert said.endswith(f"{number}\n")

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(run, number)
    hooks.tidy_at_exit()
    assert sorted(tree()) == sorted(f"n{number}" for number in range(12))


async def test_runs_one_after_another_share_a_note(box, state):
    for _ in range(3):
        await box.run(("true",))
    assert len(list(state.glob("*.json"))) <= 1


async def test_a_run_that_cannot_be_started_leaves_nothing(box, tree, state):
    spec = ProcessSpec(("true", "bad\0word"), box.root, writable=(box.root,), keep_output=False)
    with pytest.raises(ToolError):
        await box.processes().run(spec)
    hooks.tidy()
    assert tree() == {}
    assert [path.name for path in state.iterdir()] == ["lock"]


async def test_a_note_that_was_cut_off_is_removed(box, state):
    await box.sh("true")
    (state / "half.json").write_text('{"holds": [')
    ledger = Ledger.of(os.environ)
    ledger.sweep()
    assert not (state / "half.json").exists()


def test_a_folder_of_notes_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "state/pegboard").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state/pegboard/sandbox").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        Ledger.of({"XDG_STATE_HOME": str(tmp_path / "state")})


async def test_a_killed_sandbox_is_seen_to_be_over_at_once(box, tree):
    ready = anyio.Event()
    async with box.processes() as processes:
        spec = ProcessSpec(("sh", "-c", "echo on; sleep 1000"), box.root, writable=(box.root,), keep_output=False)
        child = await processes.start(spec, on_output=lambda _: ready.set())
        with anyio.fail_after(10):
            await ready.wait()
        os.kill(child.pid, signal.SIGKILL)
        await child.wait()
    hooks.tidy()
    with anyio.fail_after(10):
        while tree():
            hooks.tidy()
            await anyio.sleep(0.05)


async def test_what_an_earlier_run_left_stays_for_the_next_one_that_relies_on_it(box, tree):
    subprocess.run(["git", "init", "-q", str(box.root)], check=True)
    other = box.root.parent / "other"
    other.mkdir()
    before = sorted(tree())
    ctx, common, roots = box.context(), box.root / ".git/commondir", (box.root, other)
    first = hooks.wrap_process(ProcessSpec(("true",), box.root, writable=(box.root,)), ctx)
    second = hooks.wrap_process(
        ProcessSpec(("true",), box.root, writable=roots, opens=(box.root / ".git/worktrees",)), ctx
    )
    first.on_end()
    hooks.tidy()  # It comes when it likes: here, between the layout of the second run and its start.
    assert common.read_text() == ".\n"
    assert subprocess.run(second.argv, env=second.env, check=False).returncode == 0
    second.on_end()
    await swept(tree, before)


def test_two_runs_that_overlap_and_end_well_leave_nothing(box, tree):
    """The first host to end must not leave it to a clock: the last one out removes what both relied on."""
    first = start_host(box, "echo on; sleep 0.5")
    second = start_host(box, "echo on; sleep 1.5")
    for host in (first, second):
        assert host.stdout.readline() == b"on\n"
    for host in (first, second):
        host.communicate()
        assert host.returncode == 0
    assert tree() == {}


def test_the_next_command_that_acts_removes_what_a_killed_host_left(box, tree, state):
    host = start_host(box, "echo on; exec sleep 1000")
    assert host.stdout.readline() == b"on\n"
    assert len(tree()) > 20
    host.kill()
    host.communicate()
    assert len(tidy_up()) == 1
    assert tree() == {}
    assert list((state.parent / "hosts").iterdir()) == []
