"""TaskOutput and TaskStop over real background work."""

from dataclasses import replace

import anyio
import pytest

from pegboard import Call
from pegboard.context import Services
from pegboard_processes.background import LocalBackground


class Host:
    """The board with the installed plugins, and a background service."""

    def __init__(self, board, background):
        self.board = board
        self.ctx = replace(board.context(), services=Services(background=background))

    async def call(self, name, **given):
        return await self.board.dispatch(Call("1", name, given), self.ctx)


@pytest.fixture
async def background():
    async with LocalBackground() as service:
        yield service


@pytest.fixture
def host(board, background, approve):
    return Host(board, background)


async def test_without_an_id_all_tasks_are_listed(host, background):
    assert (await host.call("TaskOutput")).text == "There are no background tasks."
    task = background.start("sleep", anyio.sleep_forever)
    assert (await host.call("TaskOutput")).text == f"{task.id}  running  sleep"


async def test_output_is_read_from_an_offset(host, background, tmp_path):
    path = tmp_path / "out"
    path.write_text("hällo")
    task = background.start("work", anyio.sleep_forever, output=path)
    first = await host.call("TaskOutput", task_id=task.id)
    assert first.text == f"{task.id} is running.\nhällo\n(next_offset=6.)"
    path.write_text("hällo world")
    assert (await host.call("TaskOutput", task_id=task.id, offset=6)).value.text == " world"


async def test_waiting_ends_when_the_task_does(host, background):
    gate = anyio.Event()

    async def work():
        await gate.wait()
        return "forty-two"

    task = background.start("think", work)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: anyio.sleep(0.01))
        gate.set()
        result = await host.call("TaskOutput", task_id=task.id, wait_ms=60_000)
    assert result.text == f"{task.id} is done.\nforty-two"


async def test_a_failure_is_told(host, background, caplog):
    async def work():
        raise RuntimeError("the disk is gone")

    task = background.start("fail", work)
    result = await host.call("TaskOutput", task_id=task.id, wait_ms=60_000)
    assert "is failed" in result.text
    assert "the disk is gone" in result.text


async def test_a_task_is_stopped_once(host, background):
    task = background.start("sleep", anyio.sleep_forever)
    assert (await host.call("TaskStop", task_id=task.id)).text == f"{task.id} (sleep) is stopped."
    again = await host.call("TaskStop", task_id=task.id)
    assert (again.is_error, again.text) == (True, f"{task.id} is not running: it is stopped.")


async def test_former_names_work_and_unknown_tasks_are_named(host, background):
    task = background.start("sleep", anyio.sleep_forever)
    assert (await host.call("BashOutput", task_id=task.id)).text == f"{task.id} is running."
    missing = await host.call("KillShell", task_id="task-0")
    assert missing.text == f"There is no task 'task-0'. Known tasks: {task.id}."


@pytest.mark.parametrize("name", ["TaskOutput", "TaskStop"])
async def test_a_host_without_background_work_says_so(board, approve, name):
    bare = Host(board, None)
    assert (await bare.call(name, task_id="x")).code == "unsupported"
