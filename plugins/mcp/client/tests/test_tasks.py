"""The tasks extension, with a server of the official SDK: a long call is a call that takes long."""

import sys
from pathlib import Path

import anyio
import pytest

from pegboard import Allow, Answer

from .world import Person, close, until

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("task_server.py")


@pytest.fixture
def notes(world):
    path = world.project / "notes"
    path.touch()
    return path


def entry(notes, **more):
    return {"command": sys.executable, "args": [str(SERVER), str(notes)], **more}


async def test_a_call_that_becomes_a_task_ends_like_any_other(world, notes):
    board = world.board({"it": entry(notes)})
    await world.connect(board)
    seen = []
    result = await board.call("mcp__it__slow", {}, board.context(on_progress=seen.append))
    assert (result.text, result.is_error) == ("done", False)
    assert notes.read_text().count("asked about slow") == 3
    assert [one.message for one in seen] == ["step 1", "step 2"]
    failed = await board.call("mcp__it__broken")
    assert failed.is_error
    assert "The disk is full." in failed.text
    await close(board)


async def test_a_task_may_ask_the_person(world, notes):
    person = Person(Answer(Allow("yes"), {"colour": "blue"}))
    board = world.board({"it": entry(notes)}, person)
    await world.connect(board)
    assert (await board.call("mcp__it__asks")).text == "done accept {'colour': 'blue'}"
    assert notes.read_text().count("was answered") == 1
    assert "Which colour?" in person.questions[0].description
    await close(board)


async def test_a_call_that_is_cancelled_cancels_its_task(world, notes):
    board = world.board({"it": entry(notes)})
    await world.connect(board)
    async with anyio.create_task_group() as group:
        group.start_soon(board.call, "mcp__it__forever")
        await until(lambda: "asked about forever" in notes.read_text())
        group.cancel_scope.cancel()
    await until(lambda: "cancelled forever" in notes.read_text())
    assert (await board.call("mcp__it__slow")).text == "done"
    await close(board)


async def test_a_task_that_takes_too_long_is_cancelled(world, notes):
    board = world.board({"it": entry(notes, timeout=1)})
    await world.connect(board)
    assert (await board.call("mcp__it__forever")).code == "timeout"
    await until(lambda: "cancelled forever" in notes.read_text())
    await close(board)
