"""The helper: started once, started again, ended with the host; and the limits of what it starts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pegboard_confine import (
    BUBBLEWRAP,
    HELPER,
    LANDLOCK,
    Access,
    HelperError,
    ResourceLimits,
    available,
    confinement_for,
    seccomp,
    spare,
    spares,
    tidy,
)


def test_a_killed_helper_is_started_again(room):
    room.run("true")
    first = HELPER.pid
    assert first
    kill_and_wait(first)
    assert room.run("echo well").text == "well\n"
    assert HELPER.pid != first


def kill_and_wait(pid: int) -> None:
    """The kernel ends a killed process at a time of its own; whoever started it still has to reap it."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_call_is_lost_or_run_twice_while_everything_is_killed(room, number):
    """The helper and its children are killed again and again, without waiting, while commands run."""
    stop, log = threading.Event(), os.open(room.outside / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    chance = random.Random(3)

    def kill() -> None:
        helper_until = 0.0
        while not stop.wait(chance.uniform(0, 0.05)):
            found = [each.pid for each in list(HELPER._waiting)]
            if time.monotonic() > helper_until:  # it needs a while to start
                found, helper_until = [*found, HELPER.pid or 0], time.monotonic() + 1
            for pid in found:
                with suppress(ProcessLookupError):
                    if pid:
                        os.kill(pid, number)

    HELPER.warm()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for name in range(60):
            place = confinement_for(room.wanted, room.kind)
            with open(os.devnull, "rb") as nothing:
                argv = ("bash", "-c", f"echo {name}")
                started = place.start(argv, "/", {"PATH": "/usr/bin:/bin"}, (nothing.fileno(), log, log))
            while started.poll() is None:
                time.sleep(0.001)
            place.end()
    finally:
        stop.set()
        killer.join()
        os.close(log)
    ran = [int(line) for line in (room.outside / "log").read_text().split()]
    assert len(ran) == len(set(ran))
    # A child that has taken its command is the command: to kill that is to kill the command.
    assert len(ran) >= 55


def test_a_child_that_hangs_is_ended_and_another_runs_the_command(room, monkeypatch):
    monkeypatch.setattr(spare, "SECONDS", 0.5)
    HELPER.close()
    HELPER.warm()
    hanging = HELPER._waiting[0].pid
    os.kill(hanging, signal.SIGSTOP)
    assert room.run("echo well").text == "well\n"
    assert not alive(hanging)
    HELPER.close()


def test_nothing_is_left_of_what_was_killed_or_could_not_start(room):
    HELPER.close()
    tidy()
    before, children = open_files(), own_children()
    for _ in range(5):
        HELPER.warm()
        for each in list(HELPER._waiting):
            os.kill(each.pid, signal.SIGKILL)
        assert HELPER.pid
        kill_and_wait(HELPER.pid)
        room.run("true")
        with pytest.raises(ValueError, match="null"):
            room.run("echo \0")

        def refuse(pid: int) -> None:
            raise PermissionError(1, "not in this group")

        place = confinement_for(room.wanted, room.kind)
        with pytest.raises(PermissionError, match="not in this group"):
            place.start(("true",), "/", {"PATH": "/usr/bin:/bin"}, (0, 1, 2), refuse)
        place.end()
        HELPER.warm()
        os.kill(HELPER.pid, signal.SIGSTOP)  # what is ordered now is never made
        HELPER._waiting.popleft().dismiss()
        HELPER.top_up()
        HELPER.close()
    tidy()
    time.sleep(0.1)  # the thread that prepares may be at it
    tidy()
    assert (open_files(), own_children()) == (before, children)
    assert available(LANDLOCK)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def own_children() -> list[str]:
    """Zombies too."""
    tasks = Path("/proc/self/task").iterdir()
    return sorted(pid for task in tasks for pid in (task / "children").read_text().split())


def test_killed_children_that_waited_are_replaced(room):
    room.run("true")
    HELPER.warm()
    time.sleep(0.2)
    for each in list(HELPER._waiting):
        os.kill(each.pid, signal.SIGKILL)
    for _ in range(4):
        assert room.run("echo well").text == "well\n"


def test_the_helper_has_an_empty_environment_and_no_rights(room):
    room.run("true")
    about = Path(f"/proc/{HELPER.pid}")
    assert (about / "environ").read_bytes() == b""
    status = (about / "status").read_text()
    assert "NoNewPrivs:\t1\n" in status
    assert "CapEff:\t0000000000000000\n" in status


def test_a_helper_that_does_not_start_is_an_error_and_not_a_wait(room, monkeypatch):
    broken = spares.Helper()
    monkeypatch.setattr(spares.helper, "__file__", os.devnull)
    job = spares.SpareCommand("/bin/true", ("true",), "/", {}, (0, 1, 2), -1)
    began = time.monotonic()
    with pytest.raises(HelperError, match="does not work"):
        broken.start(job)
    assert time.monotonic() - began < 5


def test_an_idle_helper_keeps_no_host_from_ending(room):
    """Not even one that has been stopped, with a child ordered that is never made."""
    script = (
        "import os, signal, sys, time\nfrom pegboard_confine import HELPER\nHELPER.warm()\n"
        "if sys.argv[1:]:\n    os.kill(HELPER.pid, signal.SIGSTOP)\n"
        "    HELPER._waiting.popleft().dismiss(); HELPER.top_up()\n"
        "print(HELPER.pid, *(spare.pid for spare in HELPER._waiting), flush=True)\nprint(time.time())"
    )
    for words in ((), ("stop",)):
        argv = (sys.executable, "-c", script, *words)
        ended = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
        pids, at = ended.stdout.splitlines()
        assert time.time() - float(at) < 3
        assert not any(alive(int(pid)) for pid in pids.split() if pid != "0")
        assert ended.stderr == ""


def test_a_fork_of_the_host_does_not_keep_the_helper_alive(room):
    script = (
        "import os, sys, time\nfrom pegboard_confine import HELPER\nHELPER.warm()\n"
        "print(HELPER.pid, *(spare.pid for spare in HELPER._waiting), flush=True)\n"
        "if os.fork() == 0: print('forked', flush=True)\n"
        "time.sleep(60)"
    )
    host = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert host.stdout
    pids = [int(pid) for pid in host.stdout.readline().split()]
    assert host.stdout.readline() == "forked\n"
    host.kill()
    host.wait()
    try:
        deadline = time.monotonic() + 10
        while any(map(alive, pids)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.killpg(host.pid, signal.SIGKILL)
        host.stdout.close()


def test_nothing_is_left_when_the_host_is_killed(room, tmp_path):
    script = (
        "import os, sys, time\nfrom pegboard_confine import HELPER\nHELPER.warm(); time.sleep(0.5)\n"
        "print(HELPER.pid, flush=True); time.sleep(60)"
    )
    host = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert host.stdout
    helper = int(host.stdout.readline())
    children = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()
    assert (str(helper) in children, len(children)) == (True, 3)
    host.kill()
    host.wait()
    host.stdout.close()
    deadline = time.monotonic() + 10
    while any(alive(int(pid)) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_many_at_once(room):
    found: list[str] = []

    def work() -> None:
        found.extend(room.run("echo well").text for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["well\n"] * 30


def test_a_fork_of_the_host_has_a_helper_of_its_own(room):
    room.run("true")
    mine = HELPER.pid
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if room.run("echo well").text == "well\n" and HELPER.pid not in (mine, None) else 1
            HELPER.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert room.run("echo well").text == "well\n"


def test_a_large_environment_and_a_long_command_arrive_whole(room):
    long = "x" * 100_000
    assert room.run(f"echo {long} | wc -c").text.strip() == "100001"


def test_what_cannot_start_says_so(room):
    gone = replace(room, inside=room.inside / "gone")
    ended = gone.run("true")
    assert ended.code == 126
    assert ended.text.startswith("The confined process did not start: ")


@pytest.mark.parametrize(
    ("limits", "command", "sign"),
    [
        (
            ResourceLimits(memory_bytes=200_000_000),
            "x=$(head -c 400000000 /dev/zero | tr '\\0' a); echo REACHED",
            "allocate",
        ),
        (ResourceLimits(cpu_seconds=1), "while :; do :; done; echo REACHED", ""),
        (ResourceLimits(file_bytes=10_000), "head -c 20000 /dev/zero > $TMPDIR/f; echo REACHED >&2; [ $? -gt 1 ]", ""),
    ],
)
def test_limits_hold(limits, command, sign, room):
    ended = replace(room, limits=limits).run(command)
    assert sign in ended.text
    assert ended.code != 0
    if not limits.file_bytes or limits.file_bytes > 10_000:
        assert "REACHED" not in ended.text


def test_no_core_is_written(room):
    assert room.run("ulimit -c; ulimit -Hc").text.split() == ["0", "0"]


def test_a_host_with_a_lower_limit_starts_commands_all_the_same(room):
    script = (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "from pegboard_confine import LANDLOCK, Access, confinement_for\n"
        "place = confinement_for(Access((sys.argv[1],), sys.argv[1], '/usr/bin:/bin'), LANDLOCK)\n"
        "for number in '12':\n"
        "    started = place.start(('bash', '-c', f'echo {number}'), '/', {'PATH': '/usr/bin:/bin'}, (0, 1, 2))\n"
        "    while started.poll() is None: pass\n"
        "place.end()"
    )
    argv = [sys.executable, "-c", script, str(room.inside)]
    ran = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    assert (ran.stdout, ran.stderr) == ("1\n2\n", "")


def test_kill_reaches_the_own_group_where_landlock_has_no_scopes(room, monkeypatch):
    """As on a kernel whose Landlock is older: the filter alone holds signals."""
    filtered = seccomp.program(signals_are_scoped=False)
    monkeypatch.setattr(spares.seccomp, "program", lambda **_: filtered)
    HELPER.close()
    try:
        look = "kill -0 $! || echo refused; kill -0 $$ || echo refused; kill -0 0 && echo group"
        ended = room.run(f"sleep 30 & {look}; kill 0")
        assert ended.text.count("refused") == 2
        assert "group" in ended.text
        assert room.run("timeout 0.2 sleep 20; echo $?").text.strip() == "124"
    finally:
        HELPER.close()


@pytest.fixture
def wrapped(room):
    found = available(BUBBLEWRAP)
    if not found:
        pytest.skip(found.why)
    return replace(room, kind=BUBBLEWRAP)


def test_bubblewrap_holds_the_same(wrapped):
    assert wrapped.run("cat notes.txt; git --version").text.startswith("notes\ngit version")
    for command in (
        "echo x > notes.txt",
        "cat ../outside/secret.txt",
        "touch new",
        "chmod 777 notes.txt",
        f"kill -0 {os.getpid()}",
        ": > /dev/tcp/127.0.0.1/9",
        "keyctl show 2>&1 && false",
    ):
        assert wrapped.run(command).code != 0, command
    assert wrapped.run("echo x > $TMPDIR/file && cat $TMPDIR/file").text == "x\n"


def test_bubblewrap_masks_what_is_hidden(wrapped):
    (wrapped.inside / "secrets").mkdir()
    (wrapped.inside / "secrets/key").write_text("KEY\n")
    (wrapped.inside / "hidden.txt").write_text("KEY\n")
    seeing = wrapped.seeing(hidden=(str(wrapped.inside / "secrets"), str(wrapped.inside / "hidden.txt")))
    text = seeing.run("cat notes.txt secrets/key hidden.txt; grep -r . .").text
    assert ("notes" in text, "KEY" in text) == (True, False)


def test_what_is_chosen_is_what_there_is():
    assert not available("off")
    assert available("off").why == "it is switched off"
    assert available("auto").kind in ("landlock", "bubblewrap", "none")


def test_wants_that_are_alike_are_equal():
    assert Access(("/a",), "/h", may_read=str.isascii) == Access(("/a",), "/h", may_read=str.isalpha)
    assert Access(("/a",), "/h", rules=1) != Access(("/a",), "/h", rules=2)
