"""Boards inside other programs: time limits, threads, scripts without an event loop, several sessions at once."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import typing
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_process
import pytest
from anyio import from_thread

import pegboard
from pegboard import Allow, Ask, Board, Call, Context, Event, Result, Text, ToolError, hookimpl
from pegboard.execution import nested, threads
from pegboard.execution.limits import Limits
from pegboard.execution.turn import Turn, run_calls
from pegboard.permission.decide import ONLY_READS
from pegboard.settings import Layer, Settings

from .scheduling import acting, blocking, calls

HERE = Context(Path("/"))


class Watching:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @hookimpl
    def observe(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.events if event.kind == kind]


class Slow:
    """A person who takes a while to say yes."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    @hookimpl
    async def ask_user(self) -> Allow:
        await anyio.sleep(self.seconds)
        return Allow()

    @hookimpl
    def check_permission(self, tool: Any) -> Ask | Allow:
        return Ask("Really?") if tool.name == "Inner" else Allow()


def a_board(*tools: Any, plugins: tuple[object, ...] = (), **values: Any) -> Board:
    layer = Layer("user", "settings.json", values)
    return Board(Settings([layer]), [], tools=tools, plugins=plugins, env={})


async def forever(ctx: Context) -> None:
    await anyio.sleep_forever()


@pytest.mark.parametrize("key", ["timeouts", "idleTimeouts"])
async def test_time_limits_hold_for_a_single_call(key: str) -> None:
    board = a_board(acting("Slow", forever), **{key: {"Slow": 0.05}})
    with anyio.fail_after(5):
        result = await board.dispatch(Call("1", "Slow"), HERE)
    assert result.code == "timeout"
    assert "0.05 s" in result.text


async def test_a_call_that_was_stopped_stops_none_after_it() -> None:
    """One worker runs them all: what ended one call must not reach the next."""
    board = a_board(
        acting("Slow", forever), acting("Fast", lambda _: "done"), timeouts={"Slow": 0.05}, maxToolConcurrency=1
    )
    with anyio.fail_after(10):
        results = await board.run(calls("Slow", "Fast", "Slow", "Slow", "Fast", "Fast"), HERE)
    assert [result.code or result.text for result in results] == [
        "timeout",
        "done",
        "timeout",
        "timeout",
        "done",
        "done",
    ]


async def test_a_call_that_ignores_its_end_stops_none_after_it() -> None:
    async def stubborn(ctx: Context) -> str:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.2)
        return "late"

    board = a_board(
        acting("Stubborn", stubborn),
        acting("Fast", lambda _: "done"),
        timeouts={"Stubborn": 0.05},
        maxToolConcurrency=1,
    )
    with anyio.fail_after(10):
        results = await board.run(calls("Stubborn", "Fast", "Fast"), HERE)
    assert [result.text for result in results][1:] == ["done", "done"]


async def test_the_time_of_a_person_is_not_the_time_of_the_call_that_asks() -> None:
    watching = Watching()
    board = a_board(acting("Inner", lambda _: "done"), plugins=(Slow(0.3), watching), timeouts={"*": 0.1})
    result = await board.dispatch(Call("1", "Inner"), HERE)
    assert result.text == "done"
    assert watching.of("call_finished")[0]["ms"] < 250


async def test_the_time_of_a_person_is_not_the_time_of_the_call_around_it() -> None:
    took: list[float] = []

    async def outer(ctx: Context) -> str:
        return (await ctx.call("Inner", {})).text

    class Times:
        @hookimpl
        def after_call(self, ms: float, call: Call) -> None:
            if call.name == "Outer":
                took.append(ms)

    tools = (acting("Outer", outer), acting("Inner", lambda _: "done"))
    board = a_board(*tools, plugins=(Slow(0.4), Times()), timeouts={"*": 0.2}, idleTimeouts={"*": 0.2})
    result = await board.dispatch(Call("1", "Outer"), board.context())
    assert result.text == "done"
    assert took[0] < 350


async def test_the_clock_goes_on_after_the_answer() -> None:
    async def outer(ctx: Context) -> None:
        await ctx.call("Inner", {})
        await anyio.sleep_forever()

    tools = (acting("Outer", outer), acting("Inner", lambda _: "done"))
    board = a_board(*tools, plugins=(Slow(0.1),), timeouts={"Outer": 0.2})
    with anyio.fail_after(5):
        result = await board.dispatch(Call("1", "Outer"), board.context())
    assert result.text == "Outer timed out after 0.2 s."


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
async def test_a_stopped_call_keeps_what_its_tool_had_so_far(how: str) -> None:
    acting_now = anyio.Event()

    async def act(ctx: Context) -> None:
        acting_now.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class() as cancelled:
            cancelled.add_note("Its output until then:\nhalf")
            raise

    limits = (lambda tool: Limits(0.05)) if how == "timeout" else None
    async with Turn(HERE, a_board(acting("Slow", act)), limits=limits) as turn:
        turn.add(Call("1", "Slow"))
        turn.end()
        await acting_now.wait()
        if how == "cancelled":
            turn.cancel()
        results = [result async for result in turn.results()]
    first = "Slow was cancelled by the user." if how == "cancelled" else "Slow timed out after 0.05 s."
    assert (results[0].text, results[0].code) == (f"{first}\nIts output until then:\nhalf", how)


async def test_no_more_threads_than_the_limit_run_blocking_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "slots", threads.ThreadSlots(3))
    lock, now, peak = threading.Lock(), [0], [0]

    def act(ctx: Context) -> str:
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return "done"

    boards = [a_board(blocking("Block", act)) for _ in range(4)]
    answers: list[str] = []

    async def session(board: Board) -> None:
        results, _ = await run_calls(board, calls(*["Block"] * 8), HERE)
        answers.extend(result.text for result in results)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for board in boards:
                group.start_soon(session, board)
    assert answers == ["done"] * 32
    assert peak[0] == 3


def test_the_limit_holds_across_event_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "slots", threads.ThreadSlots(2))
    lock, now, peak, answers = threading.Lock(), [0], [0], list[str]()

    def act(ctx: Context) -> str:
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return "done"

    board = a_board(blocking("Block", act))

    async def session() -> None:
        results, _ = await run_calls(board, calls(*["Block"] * 6), HERE)
        answers.extend(result.text for result in results)

    loops = [threading.Thread(target=anyio.run, args=(session,)) for _ in range(3)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join(20)
    assert answers == ["done"] * 18
    assert peak[0] == 2


async def test_blocking_tools_that_wait_for_one_another_do_not_use_up_the_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "slots", threads.ThreadSlots(2))

    def nest(ctx: Context) -> str:
        depth = nested._depth.get()
        return "bottom" if depth == nested.DEEPEST else from_thread.run(ctx.call, "Nest", {}).text

    board = a_board(blocking("Nest", nest))
    with anyio.fail_after(20):
        results, _ = await run_calls(board, calls(*["Nest"] * 8), board.context())
    assert [result.text for result in results] == ["bottom"] * 8


async def test_a_call_that_gives_up_waiting_for_a_thread_leaves_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    slots = threads.ThreadSlots(1)
    monkeypatch.setattr(threads, "slots", slots)
    go_on = threading.Event()
    board = a_board(blocking("Block", lambda _: go_on.wait(10)), blocking("Quick", lambda _: "quick"))
    with anyio.fail_after(10):
        async with Turn(HERE, board) as turn:
            for call in calls("Block", "Quick"):
                turn.add(call)
            turn.end()
            await anyio.sleep(0.1)
            turn.cancel(only="1")
            go_on.set()
            results = [result async for result in turn.results()]
        assert [result.code for result in results] == ["", "cancelled"]
        assert (await board.dispatch(Call("3", "Quick"), HERE)).text == "quick"


async def test_a_machine_without_threads_is_no_bug_of_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def fails(*given: Any, **options: Any) -> None:
        threading.Thread(target=print).start()

    monkeypatch.setattr(threading.Thread, "start", no_more)
    monkeypatch.setattr(anyio.to_thread, "run_sync", fails)
    slots = threads.ThreadSlots(1)
    monkeypatch.setattr(threads, "slots", slots)
    board = a_board(blocking("Block", lambda _: "never"))
    for _ in range(2):  # Twice: the slot is given back.
        result = await board.dispatch(Call("1", "Block"), HERE)
        assert (result.code, "bug" in result.text) == ("failed", False)
        assert result.text.startswith("Block did not run: the machine could not start a thread for it")


def test_a_script_calls_a_tool_without_an_event_loop() -> None:
    board = a_board(acting("Hello", lambda _: "hello"), blocking("World", lambda _: "world"))
    assert [board.call_sync(name).text for name in ("Hello", "World", "Hello")] == ["hello", "world", "hello"]


async def test_call_sync_inside_an_event_loop_says_what_to_write() -> None:
    board = a_board(acting("Hello", lambda _: "hello"))
    with pytest.raises(RuntimeError, match=r"Write `await board\.call\(\.\.\.\)`"):
        board.call_sync("Hello")
    assert (await board.call("Hello")).text == "hello"


async def test_several_sessions_on_one_board_do_not_mix() -> None:
    watching = Watching()

    async def act(ctx: Context) -> str:
        await anyio.sleep(0.01)
        return f"{ctx.session_id} {ctx.call_id} {ctx.cwd}"

    board = a_board(acting("Where", act), plugins=(watching,))
    answers: dict[str, list[str]] = {}

    async def session(name: str) -> None:
        ctx = board.context(session_id=name, cwd=Path("/") / name)
        results, _ = await run_calls(board, calls(*["Where"] * 3), ctx)
        answers[name] = [result.text for result in results]

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(session, f"s{number}")
    for name, texts in answers.items():
        assert texts == [f"{name} {number} /{name}" for number in range(3)]
    for kind in ("call_started", "decided", "call_finished"):
        assert len([data for data in watching.of(kind) if data["session"] == "s7"]) == 3


async def test_a_finished_call_tells_its_code_and_session() -> None:
    def fails(ctx: Context) -> None:
        raise ToolError("The worker is gone.", code="lost")

    watching = Watching()
    board = a_board(acting("Away", fails), plugins=(watching,))
    result = await board.dispatch(Call("c1", "Away"), board.context(session_id="s1"))
    assert result.text == ("The worker is gone. It may have run anyway. Check what it has done before you repeat it.")
    finished = watching.of("call_finished")[0]
    assert (finished["id"], finished["session"], finished["code"]) == ("c1", "s1", "lost")


async def test_a_worker_process_that_vanishes_is_lost_and_no_bug() -> None:
    async def act(ctx: Context) -> None:
        await anyio.to_process.run_sync(os._exit, 1)

    result = await a_board(acting("Away", act)).dispatch(Call("1", "Away"), HERE)
    assert result.code == "lost"
    assert result.text.startswith("The worker that ran Away has died. It may have run anyway.")


@pytest.mark.parametrize("make", [acting, blocking])
async def test_a_tool_that_runs_out_of_memory_is_told_to_do_less(make: Any) -> None:
    result = await a_board(make("Eat", lambda _: bytearray(1 << 60))).dispatch(Call("1", "Eat"), HERE)
    assert (result.code, result.text) == ("failed", "Eat ran out of memory. Try something smaller.")


async def test_what_a_call_makes_is_whole_and_frozen() -> None:
    kept: list[Context] = []
    result = await a_board(acting("Keep", lambda ctx: kept.append(ctx) or "kept")).call("Keep")
    assert (
        replace(result) == result == Result(result.call_id, "Keep", (Text("kept"),), value="kept", decision=ONLY_READS)
    )
    assert replace(kept[0]) == kept[0]
    with pytest.raises(FrozenInstanceError):
        kept[0].mode = "bypassPermissions"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        result.is_error = True  # type: ignore[misc]


async def test_a_nested_call_has_an_id_of_its_own() -> None:
    seen: list[str] = []

    async def outer(ctx: Context) -> str:
        seen.append(ctx.call_id)
        await ctx.call("Inner", {})
        return ctx.call_id

    board = a_board(acting("Outer", outer), acting("Inner", lambda ctx: seen.append(ctx.call_id)))
    result = await board.dispatch(Call("c1", "Outer"), board.context())
    assert result.text == "c1"
    assert seen[0] == "c1"
    assert seen[1].startswith("nested-")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancelled_dispatch_is_cancelled(anyio_backend: str) -> None:
    task = asyncio.ensure_future(a_board(acting("Slow", forever)).dispatch(Call("1", "Slow"), HERE))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_nothing_is_previewed_where_nobody_looks() -> None:
    made: list[str] = []
    inner = acting("Inner", lambda _: "done")
    inner.preview = lambda args, ctx: made.append("preview")

    class Nobody:
        @hookimpl
        def ask_user(self) -> None:
            return None

        @hookimpl
        def check_permission(self) -> Ask:
            return Ask("Really?")

    result = await a_board(inner, plugins=(Nobody(),)).dispatch(Call("1", "Inner"), HERE)
    assert result.code == "permission_denied"
    assert not made


@pytest.mark.parametrize("name", ["Context", "Call", "Result", "Question", "Tool"])
def test_type_hints_of_public_names_can_be_read(name: str) -> None:
    assert typing.get_type_hints(getattr(pegboard, name))
