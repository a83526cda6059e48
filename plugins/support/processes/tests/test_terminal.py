"""Processes on a real pseudo-terminal: they ask, are answered, interrupted and ended."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from pegboard import ProcessSpec, ToolError
from pegboard_processes.background import LocalBackground
from pegboard_processes.service import LocalProcesses


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses(tmp_path / "output", grace=0.3) as service:
        yield service


def sh(script: str, **more) -> ProcessSpec:
    return ProcessSpec(("bash", "-c", script), Path("/"), tty=True, **more)


def written(process) -> str:
    return process.output.read_bytes().decode()


async def shows(process, text: str) -> str:
    with anyio.fail_after(60):
        while text not in (found := written(process)):
            await anyio.sleep(0.01)
    return found


async def test_a_process_has_a_terminal_of_its_own_and_is_answered(processes):
    process = await processes.start(sh('tty; stty size; read -p "Name? " name < /dev/tty; echo "Hello $name, $TERM"'))
    said = await shows(process, "Name? ")
    assert said.startswith("/dev/pts/")
    assert "40 120" in said
    assert await process.send(b"Ada\r") == 4
    assert (await process.wait()).code == 0
    assert written(process).endswith("Name? Ada\r\nHello Ada, xterm\r\n")


async def test_python_asks_for_input(processes):
    code = "print('got', input('word? ')); import sys; print(sys.stdin.isatty())"
    process = await processes.start(ProcessSpec((sys.executable, "-c", code), Path("/"), tty=True))
    await shows(process, "word? ")
    await process.send(b"pear\n")
    assert (await process.wait()).code == 0
    assert written(process).endswith("got pear\r\nTrue\r\n")


async def test_control_c_interrupts_and_control_d_ends_the_input(processes):
    process = await processes.start(sh("trap 'echo caught' INT; echo ready; cat; cat; echo over"))
    await shows(process, "ready")
    with anyio.fail_after(60):
        while "caught" not in written(process):  # The signal may come before cat is there to be ended.
            await process.send(b"\x03")
            await anyio.sleep(0.1)
        while not process.finished:
            await process.send(b"\x04")
            await anyio.sleep(0.05)
    assert "over" in written(process)


async def test_a_process_on_a_terminal_is_ended_with_its_tree(processes):
    process = await processes.start(sh("trap '' HUP INT; sleep 600 & echo child $!; wait"))
    child = int((await shows(process, "\r\n")).split()[1])
    await process.kill()
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]
    with pytest.raises(ToolError, match="It has ended"):
        await process.send(b"x")


async def test_the_limit_of_output_holds_on_a_terminal(processes):
    process = await processes.start(sh("yes", max_output_bytes=100_000))
    with anyio.fail_after(60):
        ended = await process.wait()
    assert (ended.truncated, ended.output_bytes) == (True, 100_000)


async def test_a_process_without_a_terminal_takes_no_input(processes):
    process = await processes.start(ProcessSpec(("sleep", "600"), Path("/")))
    with pytest.raises(ToolError, match="has no terminal"):
        await process.send(b"x")


async def test_a_background_task_takes_input_only_on_a_terminal_and_while_it_runs(processes):
    async with LocalBackground() as background:
        process = await processes.start(sh("read x; echo got $x"))
        task = background.start("ask", process.wait, output=process.output, command="read x", process=process)
        assert (task.tty, task.command) == (True, "read x")
        await background.send(task.id, b"fig\r")
        await background.wait(task.id)
        assert background.read(task.id).text.endswith("got fig\r\n")
        with pytest.raises(ToolError, match="is not running: it is done"):
            await background.send(task.id, b"x")
        other = background.start("rest", anyio.sleep_forever)
        with pytest.raises(ToolError, match="does not run on a terminal"):
            await background.send(other.id, b"x")


async def test_typing_to_a_process_that_does_not_read_can_be_given_up(processes):
    process = await processes.start(sh("stty raw -echo; echo ready; sleep 600"))
    await shows(process, "ready")
    with anyio.move_on_after(0.5) as patience:
        await process.send(b"x" * 1_000_000)
    assert patience.cancelled_caught
