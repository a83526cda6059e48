"""A turn: any mixture of calls answers as if they had run one after another. `PEGBOARD_TEST_SLOW=1` tries more."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pegboard import Call, Change, Context, Deny, Event, Output, Result, ToolError, hookimpl
from pegboard.execution.limits import Limits
from pegboard.execution.turn import Turn, run_calls

from .broken_schedulers import BROKEN, BROKEN_ABOUT_PATHS
from .scheduling import (
    Permissive,
    Stage,
    Step,
    Stop,
    a_board,
    acting,
    blocking,
    calls,
    check_cancelled,
    check_sequential,
    path_plans,
    plans,
    play,
)

TURNS = 4000 if os.environ.get("PEGBOARD_TEST_SLOW") else 120
many = settings(
    max_examples=TURNS,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
BACKENDS = ["asyncio", "trio"]
HERE = Context(Path("/"))
PLAIN: dict[str, Any] = {"read_only": False, "concurrency_safe": False}
"""The flags of a tool that changes things."""
eagerness = st.sampled_from(["safe", "all"])


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize("backend", BACKENDS)
@many
@given(plan=plans, cap=st.integers(1, 4), eager=eagerness)
def test_a_turn_answers_as_if_its_calls_ran_one_after_another(
    stage: Stage, backend: str, plan: list[Step], cap: int, eager: str
) -> None:
    check_sequential(play(stage, backend, plan, cap=cap, eager=eager), cap)


@pytest.mark.parametrize("backend", BACKENDS)
@many
@given(
    plan=plans,
    cap=st.integers(1, 4),
    eager=eagerness,
    stop=st.builds(Stop, at=st.integers(0, 40), only=st.none() | st.integers(0, 5), force=st.booleans()),
)
def test_a_cancelled_turn_answers_every_call_once_and_leaves_a_prefix_of_its_effects(
    stage: Stage, backend: str, plan: list[Step], cap: int, eager: str, stop: Stop
) -> None:
    check_cancelled(play(stage, backend, plan, cap=cap, eager=eager, stop=stop), cap, stop)


@pytest.mark.sample(2)
@pytest.mark.parametrize("broken", [*BROKEN, *BROKEN_ABOUT_PATHS], ids=lambda broken: broken.__name__)
def test_the_check_catches_a_scheduler_that(stage: Stage, broken: Callable[[], AbstractContextManager[Any]]) -> None:
    @settings(many, max_examples=2000, phases=[Phase.generate], database=None, report_multiple_bugs=False)
    @given(plan=path_plans if broken in BROKEN_ABOUT_PATHS else plans, cap=st.integers(1, 4), eager=eagerness)
    def check(plan: list[Step], cap: int, eager: str) -> None:
        check_sequential(play(stage, "asyncio", plan, cap=cap, eager=eager), cap)

    with broken(), pytest.raises((AssertionError, TimeoutError)):
        check()


class Watching(Permissive):
    """Allows everything and keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @hookimpl
    def observe(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.events if event.kind == kind]


def meeting(size: int) -> Callable[[Context], Any]:
    """An act that ends only when so many of its kind run at once."""
    here, all_here = [0], anyio.Event()

    async def act(ctx: Context) -> str:
        here[0] += 1
        if here[0] == size:
            all_here.set()
        await all_here.wait()
        return "met"

    return act


async def texts(turn: Turn) -> list[str]:
    return [result.text async for result in turn.results()]


async def forever(ctx: Context) -> None:
    await anyio.sleep_forever()


async def test_ten_safe_neighbours_run_at_once() -> None:
    with anyio.fail_after(5):
        results, _ = await run_calls(a_board(acting("Meet", meeting(10))), calls(*["Meet"] * 10), HERE)
    assert [result.text for result in results] == ["met"] * 10


async def test_blocking_tools_run_at_once_in_threads() -> None:
    barrier = threading.Barrier(4, timeout=5)
    board = a_board(blocking("Block", lambda _: barrier.wait() >= 0))
    with anyio.fail_after(10):
        results, _ = await run_calls(board, calls(*["Block"] * 4), HERE)
    assert [result.text for result in results] == ["true"] * 4


async def test_a_result_is_there_before_the_calls_behind_it_are_done() -> None:
    go_on = anyio.Event()

    async def second(ctx: Context) -> str:
        await go_on.wait()
        return "second"

    with anyio.fail_after(5):
        async with Turn(HERE, a_board(acting("First", lambda _: "first"), acting("Second", second))) as turn:
            for call in calls("First", "Second"):
                turn.add(call)
            turn.end()
            results = turn.results()
            assert (await anext(results)).text == "first"
            go_on.set()
            assert [result.text async for result in results] == ["second"]


@pytest.mark.parametrize(("eager", "early"), [("safe", ["Look"]), ("all", ["Look", "Change", "Look"])])
async def test_before_the_message_is_complete_only_readers_act_unless_all_may(eager: Any, early: list[str]) -> None:
    log: list[str] = []
    tools = (acting("Look", lambda _: log.append("Look")), acting("Change", lambda _: log.append("Change"), **PLAIN))
    async with Turn(HERE, a_board(*tools, plugins=(Permissive(),)), eager=eager) as turn:
        assert not turn.begun
        for call in calls("Look", "Change", "Look"):
            turn.add(call)
        await anyio.wait_all_tasks_blocked()
        assert (log, turn.begun) == (early, True)
        turn.end()
        assert len(await texts(turn)) == 3
    assert log == ["Look", "Change", "Look"]


async def test_a_safe_call_that_changes_something_waits_for_the_end_but_holds_no_reader() -> None:
    log: list[str] = []
    tools = (
        acting("Send", lambda _: log.append("Send"), read_only=False),
        acting("Look", lambda _: log.append("Look")),
    )
    async with Turn(HERE, a_board(*tools, plugins=(Permissive(),))) as turn:
        for call in calls("Send", "Look"):
            turn.add(call)
        await anyio.wait_all_tasks_blocked()
        assert log == ["Look"]
        turn.end()
        await texts(turn)
    assert log == ["Look", "Send"]


def limited(**limits: float) -> dict[str, Any]:
    return {"limits": lambda tool: Limits(**limits)}


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"timeout": 0.03}, "Hang timed out after 0.03 s."),
        ({"idle_timeout": 0.03}, "Hang was stopped after 0.03 s without progress."),
        ({"timeout": 30, "idle_timeout": 0.03}, "Hang was stopped after 0.03 s without progress."),
    ],
)
async def test_a_call_that_takes_too_long_is_stopped(limits: dict[str, float], words: str) -> None:
    with anyio.fail_after(5):
        results, _ = await run_calls(a_board(acting("Hang", forever)), calls("Hang"), HERE, **limited(**limits))
    assert [(result.text, result.code, result.is_error) for result in results] == [(words, "timeout", True)]


@pytest.mark.parametrize("make", [acting, blocking])
async def test_progress_is_told_and_resets_the_idle_timer(make: Any) -> None:
    beats = threading.Event()

    async def awaiting(ctx: Context) -> str:
        for beat in range(4):
            await anyio.sleep(0.1)
            ctx.report(f"beat {beat}", percent=beat)
        return "alive"

    def threaded(ctx: Context) -> str:
        for beat in range(4):
            beats.wait(0.1)
            ctx.report(f"beat {beat}", percent=beat)
        return "alive"

    watching = Watching()
    board = a_board(make("Slow", awaiting if make is acting else threaded), plugins=(watching,))
    results, _ = await run_calls(board, calls("Slow"), HERE, **limited(idle_timeout=0.3))
    assert [result.text for result in results] == ["alive"]
    assert watching.of("call_progress")[1] == {
        "id": "0",
        "message": "beat 1",
        "data": {"percent": 1},
        "session": "",
    }


async def test_a_stopped_thread_ends_at_its_next_sign_of_life() -> None:
    ended, go_on = threading.Event(), threading.Event()

    def act(ctx: Context) -> None:
        try:
            go_on.wait(5)
            ctx.report("still here")
            go_on.clear()
        finally:
            ended.set()

    with anyio.fail_after(5):
        results, _ = await run_calls(a_board(blocking("Hang", act)), calls("Hang"), HERE, **limited(timeout=0.03))
        go_on.set()
        await anyio.to_thread.run_sync(ended.wait, 5)
    assert results[0].text == "Hang timed out after 0.03 s."
    assert go_on.is_set(), "the thread went on after its report"


async def test_waiting_for_hooks_does_not_count_as_acting() -> None:
    class Slow:
        @hookimpl
        async def check_permission(self) -> None:
            await anyio.sleep(0.1)

        @hookimpl
        async def after_call(self) -> None:
            await anyio.sleep(0.1)

    board = a_board(acting("Quick", lambda _: "quick"), plugins=(Slow(),))
    results, _ = await run_calls(board, calls("Quick"), HERE, **limited(timeout=0.05, idle_timeout=0.05))
    assert results[0].text == "quick"


class Denying:
    @hookimpl
    def check_permission(self, tool: Any) -> Deny | None:
        return Deny("No.") if tool.name == "Fails" else None


def failing(ctx: Context) -> None:
    raise ToolError("It broke.", code="not_found")


@pytest.mark.parametrize(
    ("options", "flags", "plugin"),
    [
        ({"cascade": False}, {"cascades": True} | PLAIN, Permissive()),
        ({}, {"cascades": True, "read_only": True, "concurrency_safe": False}, Permissive()),
        ({}, {"cascades": False} | PLAIN, Permissive()),
        ({}, {"cascades": True} | PLAIN, Denying()),
    ],
    ids=["switched off", "a reader", "a tool that fails alone", "a denial"],
)
async def test_there_is_no_cascade_from(options: Any, flags: Any, plugin: object) -> None:
    board = a_board(acting("Fails", failing, **flags), acting("Next", lambda _: "next"), plugins=(plugin,))
    results, _ = await run_calls(board, calls("Fails", "Next"), HERE, **options)
    assert [(result.is_error, result.text) for result in results][1] == (False, "next")
    assert results[0].is_error


async def test_a_cascade_reaches_calls_that_are_still_to_come() -> None:
    board = a_board(acting("Fails", failing, cascades=True, **PLAIN), plugins=(Permissive(),))
    async with Turn(HERE, board, eager="all") as turn:
        turn.add(Call("1", "Fails"))
        await anyio.wait_all_tasks_blocked()
        turn.add(Call("2", "Fails"))
        turn.end()
        assert await texts(turn) == ["It broke.", "Fails was cancelled because Fails failed: It broke."]


async def test_a_cancelled_call_is_never_worded_as_its_own_failure() -> None:
    begun = anyio.Event()

    async def act(ctx: Context) -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            raise ToolError("The connection was lost.") from None  # What a careless tool makes of it.

    watching = Watching()
    with anyio.fail_after(5):
        async with Turn(HERE, a_board(acting("Fetch", act), plugins=(watching,))) as turn:
            turn.add(Call("1", "Fetch"))
            turn.end()
            await begun.wait()
            turn.cancel()
            assert await texts(turn) == ["Fetch was cancelled by the user."]
    assert [event["id"] for event in watching.of("call_finished")] == ["1"]


async def test_force_stops_a_call_that_blocks_interruption() -> None:
    begun = anyio.Event()

    async def act(ctx: Context) -> None:
        begun.set()
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with Turn(HERE, a_board(acting("Careful", act, interrupt_behavior="block"))) as turn:
            turn.add(Call("1", "Careful"))
            turn.end()
            await begun.wait()
            turn.cancel()
            turn.cancel(force=True)
            assert await texts(turn) == ["Careful was cancelled by the user."]


async def test_an_unknown_tool_gets_its_answer_in_its_place() -> None:
    results, _ = await run_calls(a_board(acting("Look", lambda _: "look")), calls("Look", "Loook", "Look"), HERE)
    assert [result.code for result in results] == ["", "not_found", ""]


async def test_a_change_that_cannot_be_applied_is_a_bug_of_its_tool() -> None:
    board = a_board(acting("Odd", lambda _: Output("", change=Change(mode="whatever"))))
    results, ctx = await run_calls(board, calls("Odd"), replace(HERE, policy=board))
    assert (results[0].code, ctx) == ("internal", HERE)


async def test_leaving_early_cancels_what_is_unfinished() -> None:
    with anyio.fail_after(5):
        async with Turn(HERE, a_board(acting("Hang", forever))) as turn:
            turn.add(Call("1", "Hang"))
            await anyio.wait_all_tasks_blocked()
    assert await texts(turn) == ["Hang was cancelled because the turn was ended."]


async def test_an_exception_of_the_caller_leaves_the_turn_as_it_was_raised() -> None:
    async def host() -> None:
        async with Turn(HERE, a_board(acting("Hang", forever))) as turn:
            turn.add(Call("1", "Hang"))
            await checkpoint()
            raise KeyError("mine")

    with anyio.fail_after(5), pytest.raises(KeyError):
        await host()


async def test_the_host_can_cancel_the_whole_turn() -> None:
    with anyio.move_on_after(0.05) as scope:
        await run_calls(a_board(acting("Hang", forever)), calls("Hang", "Hang"), HERE)
    assert scope.cancelled_caught


async def test_no_call_can_be_added_after_the_end() -> None:
    async with Turn(HERE, a_board()) as turn:
        turn.end()
        with pytest.raises(RuntimeError, match="has ended"):
            turn.add(Call("1", "Late"))


async def test_the_context_after_a_list_of_calls_has_all_their_changes() -> None:
    board = a_board(acting("Load", lambda ctx: Output("", change=Change(loaded_tools=(str(len(ctx.loaded_tools)),)))))
    results, ctx = await run_calls(board, calls("Load", "Load"), HERE)
    assert all(isinstance(result, Result) for result in results)
    assert ctx.loaded_tools == ("0",)
