"""Work that outlives its call."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ProcessSpec
from pegboard.errors import ToolError
from pegboard_processes import Task
from pegboard_processes.background import LocalBackground, whole_characters
from pegboard_processes.service import LocalProcesses


@pytest.fixture
def ended() -> list[Task]:
    return []


@pytest.fixture
async def background(ended: list[Task]) -> AsyncIterator[LocalBackground]:
    async with LocalBackground(ended.append) as service:
        yield service


async def test_work_starts_at_once_and_its_value_is_kept(background, ended):
    go = anyio.Event()

    async def work() -> str:
        await go.wait()
        return "an answer"

    task = background.start("ask", work)
    assert (task.state, background.tasks(), background.get(task.id), ended) == ("running", [task], task, [])
    go.set()
    done = await background.wait(task.id)
    assert (done.state, done.value, done.name, done.error) == ("done", "an answer", "ask", "")
    assert (background.get(task.id), ended) == (done, [done])


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ToolError("The agent gave up."), "The agent gave up."),
        (KeyError("x"), "It failed with KeyError: 'x'."),
        (ValueError(), "It failed with ValueError."),
        (SystemExit(3), "It failed with SystemExit: 3."),
    ],
)
async def test_a_failure_is_a_sentence_and_hurts_nobody_else(background, ended, failure, words):
    async def fail() -> None:
        raise failure

    other = background.start("other", anyio.sleep_forever)
    task = await background.wait(background.start("fail", fail).id)
    assert (task.state, task.error, ended) == ("failed", words, [task])
    assert background.get(other.id).state == "running"


async def test_stopping_waits_until_the_work_has_cleaned_up(background, ended):
    cleaned, started = [], anyio.Event()

    async def work() -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
                cleaned.append(True)

    task = background.start("work", work)
    await started.wait()
    stopped = await background.stop(task.id)
    assert (stopped.state, cleaned, ended) == ("stopped", [True], [stopped])


async def test_work_can_be_stopped_before_it_has_begun(background, ended):
    stopped = await background.stop(background.start("work", anyio.sleep_forever).id)
    assert (stopped.state, ended) == ("stopped", [stopped])


async def test_stopping_what_has_ended_changes_and_announces_nothing(background, ended):
    task = await background.wait(background.start("quick", anyio.lowlevel.checkpoint).id)
    assert await background.stop(task.id) == task
    assert (task.state, ended) == ("done", [task])


async def test_giving_up_waiting_leaves_the_work_alone(background):
    task = background.start("work", anyio.sleep_forever)
    with anyio.move_on_after(0.01):
        await background.wait(task.id)
    assert background.get(task.id).state == "running"


async def test_all_work_is_stopped_and_announced_when_the_service_closes():
    ended = []
    async with LocalBackground(ended.append) as background:
        background.start("one", anyio.sleep_forever)
        background.start("two", anyio.sleep_forever)
    assert sorted((task.name, task.state) for task in ended) == [("one", "stopped"), ("two", "stopped")]


async def test_an_error_of_the_session_comes_out_as_it_is():
    async def session() -> None:
        async with LocalBackground() as background:
            background.start("one", anyio.sleep_forever)
            raise KeyError("session")

    with pytest.raises(KeyError):
        await session()


async def test_a_listener_that_fails_stops_nothing(caplog):
    def listen(task: Task) -> None:
        raise KeyError("listener")

    async with LocalBackground(listen) as background:
        task = await background.wait(background.start("quick", anyio.lowlevel.checkpoint).id)
        assert task.state == "done"
    assert "a listener for the end of a background task failed" in caplog.text


async def test_work_can_be_started_from_a_worker_thread(background):
    task = await anyio.to_thread.run_sync(lambda: background.start("quick", anyio.lowlevel.checkpoint))
    assert (await background.wait(task.id)).state == "done"


async def test_an_unknown_task_is_named_with_those_that_exist(background):
    task = background.start("work", anyio.sleep_forever)
    with pytest.raises(ToolError, match=f"no background task 'x'.*{task.id}") as caught:
        await background.stop("x")
    assert caught.value.code == "not_found"
    assert background.get("x") is None


async def test_a_closed_service_starts_nothing():
    with pytest.raises(RuntimeError, match="not open"):
        LocalBackground().start("x", anyio.sleep_forever)


async def test_output_is_read_from_an_offset_and_no_character_is_split(background, tmp_path):
    path = tmp_path / "output"
    path.write_bytes("añ".encode() + "€".encode()[:2])
    task = background.start("work", anyio.sleep_forever, output=path)
    first = background.read(task.id)
    assert (first.text, first.next_offset, first.size) == ("añ", 3, 5)
    path.write_bytes("añ€ and more".encode())
    second = background.read(task.id, first.next_offset)
    assert (second.text, second.next_offset) == ("€ and more", 15)
    assert background.read(task.id, 15).text == ""
    assert background.read(task.id, 3, limit=4).text == "€ "
    assert background.read(task.id, 99).next_offset == 15


async def test_what_a_finished_task_left_unfinished_is_shown(background, tmp_path):
    path = tmp_path / "output"
    path.write_bytes(b"a\xe2\x82")
    task = background.start("quick", anyio.lowlevel.checkpoint, output=path)
    await background.wait(task.id)
    assert background.read(task.id).text == "a\N{REPLACEMENT CHARACTER}"


async def test_a_task_without_output_reads_as_nothing(background, tmp_path):
    assert background.read(background.start("work", anyio.sleep_forever).id).text == ""
    assert background.read(background.start("work", anyio.sleep_forever, output=tmp_path / "none").id).size == 0


async def test_a_command_goes_on_in_the_background_and_ends_with_the_session(tmp_path):
    ended = []
    spec = ProcessSpec(("sh", "-c", "echo on; exec sleep 60"), tmp_path)
    heard = anyio.Event()
    async with LocalProcesses(tmp_path / "out") as processes, LocalBackground(ended.append) as background:
        process = await processes.start(spec, on_output=lambda _: heard.set())
        task = background.start("command", process.wait, output=process.output)
        await heard.wait()
        assert background.read(task.id).text == "on\n"
        os.kill(process.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert [task.state for task in ended] == ["stopped"]


@given(st.text(min_size=1), st.integers(0, 3))
def test_whole_characters_takes_off_exactly_what_has_only_begun(text, missing):
    data = text.encode()
    last = len(text[-1].encode())
    cut = data[: len(data) - min(missing, last - 1)]
    assert whole_characters(cut) == (len(data) if cut == data else len(data) - last)
