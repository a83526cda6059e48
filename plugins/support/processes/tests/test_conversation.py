"""A process whose input stays open: real children that answer, flood, hang, crash and refuse to go."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

from pegboard import ProcessSpec, ToolError
from pegboard_processes.service import LocalProcesses

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(b"heard " + line)
    sys.stdout.buffer.flush()
print("bye", file=sys.stderr)
"""
FRAMES = """
import sys
source, out = sys.stdin.buffer, sys.stdout.buffer
while head := source.readline():
    source.readline()
    body = source.read(int(head.split(b":")[1]))[::-1]
    out.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    out.flush()
"""


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses(tmp_path / "output", grace=0.3) as service:
        yield service


def sh(script: str) -> ProcessSpec:
    return ProcessSpec(("sh", "-c", script), Path("/"))


def python(script: str) -> ProcessSpec:
    return ProcessSpec((sys.executable, "-uc", script), Path("/"))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


async def test_lines_go_out_and_come_back(processes):
    async with processes.open(python(ECHO)) as server:
        await server.send(b"one\ntwo\n")
        lines = server.lines()
        assert [await anext(lines), await anext(lines)] == [b"heard one", b"heard two"]
        await server.send(b"three\n")
        assert await anext(lines) == b"heard three"
        await server.close_input()
        assert [line async for line in lines] == []
        assert (await server.wait()).code == 0
        assert server.errors == "bye\n"


async def test_frames_of_a_known_length(processes):
    async with processes.open(python(FRAMES)) as server:
        for size in (1, 70_000, 300_000):
            body = os.urandom(size)
            await server.send(b"Content-Length: %d\r\n\r\n" % size + body)
            head = await server.receive_until(b"\r\n\r\n")
            assert head == b"Content-Length: %d" % size
            assert await server.receive_exactly(size) == body[::-1]


async def test_the_last_line_may_have_no_end(processes):
    async with processes.open(sh("printf 'one\\n\\nlast'")) as process:
        assert [line async for line in process.lines()] == [b"one", b"", b"last"]


async def test_what_was_written_before_the_end_can_be_read_after_it(processes):
    async with processes.open(sh("printf 'a\\nb\\n'")) as process:
        await process.wait()
        assert [line async for line in process.lines()] == [b"a", b"b"]
        assert await process.receive() == b""


async def test_100_megabytes_go_through_and_memory_stays(processes):
    block, count = os.urandom(1_000_000), 100
    sent, got, size = sha256(block * count).hexdigest(), sha256(), 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with processes.open(ProcessSpec(("cat",), Path("/"))) as cat, anyio.create_task_group() as tasks:

        async def feed() -> None:
            for _ in range(count):
                await cat.send(block)
            await cat.close_input()

        tasks.start_soon(feed)
        while chunk := await cat.receive():
            got.update(chunk)
            size += len(chunk)
    assert (size, got.hexdigest()) == (count * len(block), sent)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


async def test_a_process_that_floods_has_to_wait(processes):
    async with processes.open(sh("exec yes")) as flood:
        await anyio.sleep(0.5)
        rate = Path(f"/proc/{flood.pid}/io").read_text().partition("wchar: ")[2].split()[0]
        await anyio.sleep(0.3)
        again = Path(f"/proc/{flood.pid}/io").read_text().partition("wchar: ")[2].split()[0]
        assert rate == again
        assert int(rate) <= 2_000_000
        lines = flood.lines()
        assert [await anext(lines) for _ in range(100_000)] == [b"y"] * 100_000
    assert not is_running(flood.pid)


async def test_a_flood_on_standard_error_stops_nothing(processes):
    async with processes.open(sh("head -c 5000000 /dev/zero | tr '\\0' e >&2; read x; echo $x")) as process:
        await process.send(b"still here\n")
        assert await process.receive_until(b"\n") == b"still here"
        assert set(process.errors) == {"e"}
        assert len(process.errors) <= 10_000


async def test_standard_error_goes_to_a_listener(processes):
    heard = bytearray()
    async with processes.open(sh("echo oh >&2; cat"), on_error=heard.extend) as process:
        await process.close_input()
        await process.wait()
    assert heard == b"oh\n"


async def test_a_line_without_end_is_refused(processes):
    async with processes.open(sh("exec tr '\\0' x < /dev/zero")) as process:
        with pytest.raises(ToolError, match=r"sh wrote more than 100000 bytes without b'\\n'\. Restart it\.") as caught:
            await anext(process.lines(max_bytes=100_000))
    assert caught.value.code == "too_large"


async def test_a_process_that_closes_its_input_is_told_from_one_that_ended(processes):
    async with processes.open(sh("exec <&-; echo closed; sleep 60")) as process:
        assert await process.receive_until(b"\n") == b"closed"
        with pytest.raises(ToolError, match=r"sh still runs; it no longer reads its input\."):
            await process.send(b"x" * 1_000_000)


async def test_a_crash_in_the_middle_of_a_message_is_explained(processes):
    async with processes.open(sh("printf 12345; echo 'no more memory' >&2; exit 7")) as process:
        with pytest.raises(ToolError) as caught:
            await process.receive_exactly(10)
        expected = "sh ended with exit code 7; its output ended after 5 of 10 bytes. It said: no more memory"
        assert (caught.value.message, caught.value.code) == (expected, "failed")
        with pytest.raises(ToolError, match="sh ended with exit code 7; it no longer reads its input"):
            await process.send(b"hello?\n")


async def test_a_kill_while_both_sides_wait_wakes_everybody(processes):
    heard: list[str] = []
    async with processes.open(sh("sleep 60")) as process:

        async def waits(act, *args) -> None:
            with pytest.raises(ToolError) as caught:
                await act(*args)
            heard.append(caught.value.message)

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(waits, process.send, b"x" * 10_000_000)
                tasks.start_soon(waits, process.receive_until, b"\n")
                await anyio.sleep(0.2)
                os.kill(process.pid, signal.SIGKILL)
    assert len(heard) == 2
    assert all(words.startswith("sh was ended by SIGKILL; ") for words in heard)


async def test_a_process_that_ignores_the_request_to_end_is_ended_with_all_it_started(processes):
    script = "trap '' TERM; (trap '' TERM; setsid sleep 300) & echo $!; while :; do sleep 1; done"
    async with processes.open(sh(script), grace=0.2) as process:
        inner = int(await process.receive_until(b"\n"))
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not is_running(process.pid)
    assert not is_running(inner)


async def test_a_process_has_time_to_end_by_itself(processes, tmp_path):
    script = f"while read x; do :; done; head -c 500000 /dev/zero; sleep 0.3; echo done > {tmp_path}/done"
    async with processes.open(sh(script), grace=10) as process:
        began = time.monotonic()
    assert time.monotonic() - began < 8
    assert (tmp_path / "done").read_text() == "done\n"
    assert (await process.wait()).code == 0


async def test_after_it_is_closed_nothing_can_be_sent(processes):
    async with processes.open(ProcessSpec(("cat",), Path("/"))) as cat:
        pass
    with pytest.raises(ToolError, match=r"cat was closed\."):
        await cat.send(b"x")


async def test_one_that_is_not_used_is_closed(processes):
    async with processes.open(ProcessSpec(("cat",), Path("/")), idle=0.4) as cat:
        for _ in range(4):
            await anyio.sleep(0.2)
            await cat.send(b"x\n")
            assert await cat.receive_until(b"\n") == b"x"
        with anyio.fail_after(5):
            await cat.wait()
        with pytest.raises(ToolError, match=r"cat was closed after 0\.4 s without use\."):
            await cat.send(b"x")


async def test_a_send_that_was_cut_off_ends_the_conversation(processes):
    async with processes.open(sh("sleep 60")) as process:
        with anyio.move_on_after(0.2):
            await process.send(b"x" * 10_000_000)
        with pytest.raises(ToolError, match=r"Only part of a message was sent to sh\. Restart it\."):
            await process.send(b"y")


async def test_it_ends_with_the_service(tmp_path):
    async with LocalProcesses(tmp_path / "output", grace=0.3) as service:
        opened = service.open(ProcessSpec(("cat",), Path("/")))
        cat = await opened.__aenter__()
        await cat.send(b"x")
    assert not is_running(cat.pid)
    await opened.__aexit__(None, None, None)


async def test_it_works_in_a_service_that_is_not_open(tmp_path):
    async with LocalProcesses(tmp_path / "output").open(python(ECHO)) as server:
        await server.send(b"x\n")
        assert await server.receive_until(b"\n") == b"heard x"
    assert not is_running(server.pid)


async def test_it_goes_through_the_wrapping_hooks(tmp_path):
    ended: list[bool] = []

    async def wrap(spec: ProcessSpec) -> ProcessSpec:
        return replace(spec, argv=("env", "WRAPPED=yes", *spec.argv), on_end=lambda: ended.append(True))

    async with LocalProcesses(tmp_path / "output", wrap=wrap) as service:
        async with service.open(sh("echo $WRAPPED; cat")) as process:
            assert await process.receive_until(b"\n") == b"yes"
        assert ended == [True]


async def test_what_cannot_be_started_leaves_nothing_open(processes):
    await processes.run(sh("true"))
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ToolError, match="the program was not found"):
        async with processes.open(ProcessSpec(("no-such-program",), Path("/"))):
            raise AssertionError
    for _ in range(20):
        async with processes.open(ProcessSpec(("cat",), Path("/"))):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_time_limit_holds_for_it_too(processes):
    async with processes.open(replace(sh("sleep 60"), timeout=0.3)) as process:
        with anyio.fail_after(5):
            assert (await process.wait()).timed_out
