"""Processes on a terminal in the sandbox: held like all others, and still with a terminal of their own."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from pegboard import ProcessSpec
from pegboard_sandbox import landlock
from pegboard_sandbox.policy import Policy


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


SCRIPT = """
echo x > /etc/pegboard-test
read -p 'Name? ' name; echo "Hello $name"
trap 'echo caught; exit 0' INT
echo ready; sleep 600
"""


async def heard(process, text: str) -> None:
    with anyio.fail_after(60):
        while text not in process.output.read_text():
            await anyio.sleep(0.01)


async def talk(box, **settings) -> str:
    async with box.processes(**settings) as processes:
        process = await processes.start(ProcessSpec(("bash", "-c", SCRIPT), box.root, writable=(box.root,), tty=True))
        await heard(process, "Name? ")
        await process.send(b"Ada\r")
        await heard(process, "ready")
        with anyio.fail_after(60):
            while not process.finished:
                await process.send(b"\x03")
                await anyio.sleep(0.1)
        return process.output.read_text()


async def test_a_command_in_bubblewrap_is_answered_and_interrupted(box):
    said = await talk(box)
    assert "Read-only file system" in said
    assert "caught" in said
    assert not Path("/etc/pegboard-test").exists()


async def test_a_command_in_landlock_is_answered_and_interrupted(box):
    if problem := landlock.trouble(Policy(), network=False):
        pytest.skip(f"No sandbox of Landlock can be made here: {problem}.")
    said = await talk(box, mechanism="landlock")
    assert "Permission denied" in said
    assert "caught" in said
    assert not Path("/etc/pegboard-test").exists()
