"""Processes: one output, a limit for everything, and nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from pegboard import ProcessSpec
from pegboard.errors import ToolError
from pegboard_confine import HELPER
from pegboard_processes import ProcessExit
from pegboard_processes import child as child_module
from pegboard_processes.reaper import MARKER, ProcessTree
from pegboard_processes.service import LocalProcesses

TAG = "PEGBOARD_TEST_TAG"


@pytest.fixture
def tag() -> str:
    """A mark of the test's own, by which it finds what the service may have forgotten."""
    return uuid4().hex


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses(tmp_path / "output", grace=0.3) as service:
        yield service


@pytest.fixture
def sh(tmp_path: Path, tag: str):
    def spec(script: str, **options: object) -> ProcessSpec:
        return replace(ProcessSpec(("sh", "-c", script), tmp_path, env={TAG: tag}), **options)  # type: ignore[arg-type]

    return spec


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


@pytest.fixture(autouse=True)
def without_helper() -> None:
    """Tests of confined commands, in the same process, leave a helper that waits for the next one."""
    HELPER.close()


def children() -> set[int]:
    """All our children, zombies too."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdecimal()
                and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
            ):
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def text(exit_: ProcessExit) -> str:
    assert exit_.output is not None
    return exit_.output.read_text()


async def until(condition) -> None:
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.005)


async def test_output_and_errors_are_kept_in_the_order_written(processes, sh):
    done = await processes.run(sh("for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 3"))
    assert text(done) == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
    assert (done.code, done.signal, done.timed_out, done.truncated, done.output_bytes) == (3, "", False, False, 36)


async def test_the_output_file_is_for_the_user_only(processes, sh):
    done = await processes.run(sh("echo secret"))
    assert done.output.stat().st_mode & 0o777 == 0o600
    assert done.output.parent.stat().st_mode & 0o777 == 0o700


async def test_output_is_streamed_while_the_process_runs(processes, sh, tmp_path):
    os.mkfifo(tmp_path / "go")
    heard = []

    def listen(data: bytes) -> None:
        heard.append(data)
        if data == b"first\n":  # the process goes on only because it was heard
            (tmp_path / "go").write_text("x")

    with anyio.fail_after(10):
        await processes.run(sh("echo first; cat go >/dev/null; echo second"), on_output=listen)
    assert b"".join(heard) == b"first\nsecond\n"


async def test_errors_can_be_kept_apart(processes, sh):
    errors: list[bytes] = []
    done = await processes.run(sh("echo out; echo err >&2"), on_error=errors.append)
    assert (text(done), b"".join(errors)) == ("out\n", b"err\n")


async def test_no_file_is_written_when_none_is_wanted(processes, sh, tmp_path):
    heard: list[bytes] = []
    done = await processes.run(sh("echo hi", keep_output=False), on_output=heard.append)
    assert (done.output, done.output_bytes, heard) == (None, 3, [b"hi\n"])
    assert not (tmp_path / "output").exists()


async def test_a_listener_that_fails_does_not_hurt_the_process(processes, sh, caplog):
    def listen(data: bytes) -> None:
        raise KeyError("listener")

    done = await processes.run(sh("echo one; echo two"), on_output=listen)
    assert (done.code, text(done)) == (0, "one\ntwo\n")
    assert "and was removed" in caplog.text


async def test_input_is_empty_unless_given(processes, sh):
    assert text(await processes.run(sh("wc -c"))).strip() == "0"


async def test_input_larger_than_any_pipe_is_read_whole(processes, sh):
    data = os.urandom(3_000_000)
    assert text(await processes.run(sh("sha256sum", stdin=data))).split()[0] == sha256(data).hexdigest()


async def test_input_that_nobody_reads_blocks_nothing(processes, sh):
    with anyio.fail_after(10):
        assert (await processes.run(sh("exit 0", stdin=b"x" * 3_000_000))).code == 0


async def test_a_process_leads_its_own_session(processes, sh):
    started = await processes.start(sh("cut -d' ' -f5,6 /proc/$$/stat"))
    done = await started.wait()
    assert text(done).split() == [str(started.pid), str(started.pid)]
    assert started.output == done.output


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "SIGKILL"), (40, "signal 40")]
)
async def test_a_signal_is_named(processes, sh, number, name):
    done = await processes.run(sh(f"kill -{int(number)} $$"))
    assert (done.code, done.signal) == (None, name)


async def test_a_timeout_ends_the_whole_tree(processes, sh, tag):
    done = await processes.run(sh("sleep 60 & setsid sleep 60 & (setsid sleep 60 &) ; echo on; sleep 60", timeout=0.3))
    assert (done.timed_out, done.signal, text(done)) == (True, "SIGTERM", "on\n")
    assert alive(tag) == []


async def test_a_tree_that_ignores_the_request_is_killed_after_the_grace(processes, sh, tag):
    began = time.monotonic()
    done = await processes.run(sh("trap '' TERM; sleep 60 & while :; do sleep 1; done", timeout=0.2))
    assert (done.timed_out, done.signal) == (True, "SIGKILL")
    assert 0.5 <= time.monotonic() - began < 5
    assert alive(tag) == []


async def test_a_process_may_use_the_grace_to_say_goodbye(tmp_path, sh):
    # More than a pipe holds: somebody must still be reading.
    script = "trap 'head -c 200000 /dev/zero; echo bye; exit 4' TERM; echo on; while :; do sleep 0.01; done"
    async with LocalProcesses(tmp_path / "output") as processes:
        done = await processes.run(sh(script, timeout=0.3))
    assert (done.code, done.timed_out, done.output.read_bytes().count(b"\0")) == (4, True, 200_000)
    assert text(done).endswith("bye\n")


async def test_a_stopped_process_is_ended_too(processes, sh, tag):
    done = await processes.run(sh("kill -STOP $$", timeout=0.2))
    assert done.timed_out
    assert alive(tag) == []


async def test_what_is_known_by_its_parent_alone_is_ended_too(processes, sh, tmp_path):
    script = "env -i setsid sh -c 'trap \"\" TERM; echo $$ >pid; while :; do sleep 0.05; done' & wait"
    done = await processes.run(sh(script, timeout=0.5))
    assert done.timed_out
    pid = int((tmp_path / "pid").read_text())
    assert not is_running(pid)


async def test_the_processes_of_a_host_inside_are_found_by_their_inherited_mark(processes, sh, tag):
    inner = (
        "import anyio, sys\nfrom pathlib import Path\nfrom pegboard_processes.service import LocalProcesses\n"
        "from pegboard import ProcessSpec\n"
        "async def main():\n"
        "    print('on', flush=True)\n"
        "    await LocalProcesses().run(ProcessSpec(('sh', '-c', 'echo deep; sleep 60'), Path('/')), on_output=print)\n"
        "anyio.run(main)\n"
    )
    deep = anyio.Event()
    spec = replace(sh(""), argv=(sys.executable, "-uc", inner))
    started = await processes.start(spec, on_output=lambda data: deep.set() if b"deep" in data else None)
    with anyio.fail_after(20):
        await deep.wait()
    os.kill(started.pid, signal.SIGKILL)  # the host inside has no chance to clean up
    await started.wait()
    assert alive(tag) != []
    await started.kill()
    assert alive(tag) == []


async def test_cancelling_ends_the_whole_tree(processes, sh, tag):
    with anyio.CancelScope() as scope:
        await processes.run(
            sh("setsid sleep 60 & (setsid nohup sleep 60 >/dev/null 2>&1 &); echo on; sleep 60"),
            on_output=lambda _: scope.cancel(),
        )
    assert scope.cancelled_caught
    assert alive(tag) == []
    assert children() == set()


async def test_a_flood_is_cut_at_the_limit_and_its_tree_killed(processes, sh, tag):
    done = await processes.run(sh("setsid yes & yes", max_output_bytes=100_000))
    assert (done.truncated, done.signal, done.output_bytes, done.timed_out) == (True, "SIGKILL", 100_000, False)
    assert done.output.stat().st_size == 100_000
    assert alive(tag) == []


async def test_output_of_exactly_the_limit_is_whole(processes, sh):
    done = await processes.run(sh("head -c 100000 /dev/zero", max_output_bytes=100_000))
    assert (done.truncated, done.code, done.output_bytes) == (False, 0, 100_000)


async def test_a_full_disk_loses_output_but_not_the_process(tmp_path, sh):
    # A folder that is a file: nothing can be kept in it.
    (tmp_path / "output").write_text("")
    heard: list[bytes] = []
    done = await LocalProcesses(tmp_path / "output").run(sh("echo hi"), on_output=heard.append)
    assert (done.code, done.output, done.truncated, heard) == (0, None, True, [b"hi\n"])
    assert done.output_error == "Not a directory"


async def test_a_disk_that_fills_up_while_writing_is_said_in_the_exit(sh, monkeypatch, tmp_path):
    monkeypatch.setattr("pegboard_processes.service._SharedProcesses.new_file", lambda self, token: tmp_path / "link")
    from pegboard_processes import streams

    real = os.open
    monkeypatch.setattr(
        streams.os, "open", lambda path, *rest: real("/dev/full" if path == tmp_path / "link" else path, os.O_WRONLY)
    )
    done = await LocalProcesses(tmp_path).run(sh("echo hi"))
    assert (done.code, done.truncated, done.output_error) == (0, True, "No space left on device")


async def test_survivors_of_a_finished_process_get_two_seconds_and_are_then_ended(processes, sh, tag):
    began = time.monotonic()
    done = await processes.run(sh("sleep 60 & setsid sleep 60 >/dev/null 2>&1 & echo hi"))
    assert (done.code, done.timed_out, text(done)) == (0, False, "hi\n")
    assert 1.9 <= time.monotonic() - began < 5
    assert alive(tag) == []


async def test_a_survivor_that_ends_in_time_is_heard_to_its_end(processes, sh):
    began = time.monotonic()
    done = await processes.run(sh("(sleep 0.5; echo late) & echo early"))
    assert text(done) == "early\nlate\n"
    assert time.monotonic() - began < 1.8


async def test_wait_returns_although_a_grandchild_holds_the_output(processes, sh, tag):
    began = time.monotonic()
    started = await processes.start(sh("sleep 60 & echo hi"))
    done = await started.wait()
    assert (done.code, text(done)) == (0, "hi\n")
    assert time.monotonic() - began < 2
    assert len(alive(tag)) == 1
    await started.kill()
    assert alive(tag) == []
    assert children() == set()


async def test_giving_up_waiting_leaves_the_process_alone(processes, sh, tmp_path):
    os.mkfifo(tmp_path / "go")
    started = await processes.start(sh("cat go; exit 7"))
    with anyio.move_on_after(0.05) as scope:
        await started.wait()
    assert scope.cancelled_caught
    await anyio.to_thread.run_sync((tmp_path / "go").write_text, "x")
    assert (await started.wait()).code == 7
    assert (await started.wait()).code == 7


async def test_a_started_process_is_reaped_when_it_ends(processes, sh):
    started = await processes.start(sh("exit 0"))
    await started.wait()
    await until(lambda: started.pid not in children())
    await started.kill()


async def test_a_started_process_whose_survivors_ended_is_reaped_at_the_next_start(processes, sh, tag):
    started = await processes.start(sh("sleep 0.6 >/dev/null 2>&1 &"))
    await started.wait()
    await until(lambda: not alive(tag))
    await processes.run(sh("true"))
    assert started.pid not in children()


async def test_a_started_process_keeps_to_its_timeout(processes, sh, tag):
    started = await processes.start(sh("sleep 60", timeout=0.2))
    assert (await started.wait()).timed_out
    assert alive(tag) == []


async def test_two_who_kill_the_same_process_both_return(processes, sh, tag):
    trapped = anyio.Event()
    spec = sh("trap '' TERM; echo on; sleep 60 & sleep 60")
    started = await processes.start(spec, on_output=lambda data: trapped.set())
    await trapped.wait()
    async with anyio.create_task_group() as group:
        group.start_soon(started.kill)
        group.start_soon(started.kill)
    assert (await started.wait()).signal == "SIGKILL"
    assert alive(tag) == []


async def test_closing_the_service_ends_what_is_left(tmp_path, sh, tag):
    async with LocalProcesses(grace=0.3) as processes:
        running = await processes.start(sh("exec sleep 60"))
        left = await processes.start(sh("setsid sleep 60 >/dev/null 2>&1 & exit 0"))
        await left.wait()
        folder = running.output.parent
        assert len(alive(tag)) == 2
    assert alive(tag) == []
    assert children() == set()
    assert not folder.exists()


async def test_cancelling_the_session_ends_what_is_left(sh, tag):
    with anyio.CancelScope() as scope:
        async with LocalProcesses(grace=0.3) as processes:
            await processes.start(sh("setsid sleep 60 & sleep 60"))
            scope.cancel()
            await anyio.sleep_forever()
    assert alive(tag) == []
    assert children() == set()


async def test_start_needs_an_open_service(sh):
    with pytest.raises(RuntimeError, match="not open"):
        await LocalProcesses().start(sh("true"))


async def test_hooks_see_the_whole_environment_and_change_the_process(processes, sh, monkeypatch):
    seen: list[ProcessSpec] = []

    async def wrap(spec: ProcessSpec) -> ProcessSpec:
        seen.append(spec)
        return replace(spec, argv=("env", "WRAPPED=yes", *spec.argv))

    done = await processes.wrapped_by(wrap).run(sh("echo $WRAPPED $EXTRA", env={"EXTRA": "more"}))
    assert text(done) == "yes more\n"
    assert seen[0].env["GIT_TERMINAL_PROMPT"] == "0"
    assert text(await processes.run(sh("echo $WRAPPED"))) == "\n"


async def test_a_hook_that_fails_keeps_the_process_from_starting(processes, sh, tmp_path):
    async def wrap(spec: ProcessSpec) -> ProcessSpec:
        raise ToolError("no sandbox")

    with pytest.raises(ToolError, match="no sandbox"):
        await processes.wrapped_by(wrap).run(sh("touch ran"))
    assert not (tmp_path / "ran").exists()


async def test_secrets_of_the_host_do_not_reach_a_process(tmp_path, sh, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "hush")
    assert text(await LocalProcesses(tmp_path / "output").run(sh("echo [$GITHUB_TOKEN] $PAGER"))) == "[] cat\n"


@pytest.mark.parametrize(
    ("change", "message", "code"),
    [
        ({"argv": ("no-such-program",)}, "no-such-program cannot be started: the program was not found.", "not_found"),
        ({"cwd": Path("/no/such")}, "sh cannot be started in /no/such: the folder does not exist.", "not_found"),
        ({"argv": ("/etc/passwd",)}, "/etc/passwd cannot be started: Permission denied.", "unsupported"),
        ({"argv": ("echo", "a\0b")}, "'echo' cannot be started: its arguments contain a character", "invalid_input"),
        ({"argv": ()}, "The command is empty, so there is nothing to start.", "invalid_input"),
        ({"argv": ("echo", "x" * 3_000_000)}, "echo cannot be started: Argument list too long.", "unsupported"),
    ],
)
async def test_what_cannot_be_started_is_said_in_a_sentence(processes, sh, tmp_path, change, message, code):
    await processes.run(sh("true", keep_output=False))  # the record of this host is open while it has processes
    before = descriptors()
    with pytest.raises(ToolError) as caught:
        await processes.run(sh("true", **change))
    assert (caught.value.message[: len(message)], caught.value.code) == (message, code)
    assert descriptors() == before
    assert list(tmp_path.glob("output/*")) == []


async def test_without_process_handles_the_end_is_still_noticed(processes, sh, tag, monkeypatch):
    def missing(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    assert (await processes.run(sh("exit 5"))).code == 5
    assert (await processes.run(sh("setsid sleep 60 & sleep 60", timeout=0.2))).timed_out
    assert alive(tag) == []


async def test_a_tree_that_cannot_be_ended_is_not_waited_for(processes, sh, monkeypatch, tag):
    monkeypatch.setattr("pegboard_processes.reaper.PATIENCE", 0.1)
    monkeypatch.setattr(child_module, "DRAIN", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(ProcessTree, "signal", lambda self, *numbers: None)  # as if stuck in the kernel
        started = await processes.start(sh("sleep 3"))
        with anyio.fail_after(2.5):
            await started.kill()
        assert (await started.wait()).code is None
    os.killpg(started.pid, signal.SIGKILL)
    await until(lambda: not alive(tag))
    await processes.run(sh("true"))
    assert started.pid not in children()


async def test_the_marker_of_a_process_is_its_own(processes, sh):
    marks = {text(await processes.run(sh(f"echo ${MARKER}"))) for _ in range(3)}
    assert len(marks) == 3


MIXED = [
    ("true", {}),
    ("echo hi; exit 3", {}),
    ("head -c 300000 /dev/zero", {}),
    ("yes", {"max_output_bytes": 50_000}),
    ("sleep 60", {"timeout": 0.05}),
    ("setsid sleep 60 & sleep 60", {"timeout": 0.05}),
    ("(setsid nohup sleep 60 >/dev/null 2>&1 &); (sleep 60 &); exec sleep 60", {"timeout": 0.05}),
    ("wc -c", {"stdin": b"x" * 100_000}),
    ("kill -9 $$", {}),
    ("sleep 0.05 & exit 1", {}),
]


async def test_two_hundred_mixed_calls_leave_no_descriptor_and_no_process(sh, tag, tmp_path):
    async def one(number: int) -> None:
        script, options = MIXED[number % len(MIXED)]
        # Every seventh is cancelled from outside, wherever it may be at that moment.
        with anyio.move_on_after(0.02 if number % 7 == 0 else 60):
            await processes.run(sh(script, **options))

    async with LocalProcesses(tmp_path / "output", grace=0.3) as processes:
        await processes.run(sh("true"))
        before = descriptors()
        for batch in range(0, 200, 10):
            async with anyio.create_task_group() as group:
                for number in range(batch, batch + 10):
                    group.start_soon(one, number)
        assert (descriptors(), children(), alive(tag)) == (before, set(), [])


async def test_dropping_everything_raises_no_resource_warning(sh):
    import gc

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await LocalProcesses().run(sh("true", keep_output=False))
        gc.collect()


async def test_a_hook_is_told_once_when_its_process_has_ended(tmp_path):
    ended: list[str] = []

    async def wrap(spec):
        return replace(spec, on_end=lambda: ended.append(spec.argv[0]))

    services = LocalProcesses(tmp_path, wrap=wrap)
    await services.run(ProcessSpec(("true",), tmp_path))
    assert ended == ["true"]
    async with services:
        child = await services.start(ProcessSpec(("sleep", "1000"), tmp_path))
        assert ended == ["true"]
        await child.kill()
    assert ended == ["true", "sleep"]
    with pytest.raises(ToolError):
        await services.run(ProcessSpec(("no-such-program",), tmp_path))
    assert ended == ["true", "sleep", "no-such-program"]
