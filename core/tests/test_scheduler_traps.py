"""The ten traps of running calls side by side, each with its own test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from pegboard import Allow, Ask, Before, Call, Change, Context, Event, Facts, Input, Output, ToolError, hookimpl, tool
from pegboard.context import Services
from pegboard.execution.limits import Limits
from pegboard.execution.threads import AbandonedThreads
from pegboard.execution.turn import Turn, run_calls

from .scheduling import Nothing, Permissive, a_board, acting, blocking, calls

HERE = Context(Path("/"))
PLAIN: dict[str, Any] = {"read_only": False, "concurrency_safe": False}
"""The flags of a tool that changes things."""


class Flag(Input):
    safe: bool = True


class Watching(Permissive):
    """Allows everything and keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @hookimpl
    def observe(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


async def test_trap_1_a_call_in_a_hook_holds_no_slot() -> None:
    done = anyio.Event()

    class Hook:
        @hookimpl
        async def check_permission(self, tool: Any) -> None:
            if tool.name == "Patient":
                await done.wait()

    board = a_board(acting("Patient", lambda _: "patient"), acting("Quick", lambda _: done.set()), plugins=(Hook(),))
    with anyio.fail_after(5):
        results, _ = await run_calls(board, calls("Patient", "Quick"), HERE, cap=1)
    assert [result.is_error for result in results] == [False, False]


async def test_trap_1_a_call_that_waits_to_be_alone_holds_no_slot() -> None:
    @tool(facts=lambda args, ctx: Facts(concurrency_safe=args.safe, read_only=True, open_world=False))
    async def Either(args: Flag, ctx: Context) -> str:
        """Be safe or not."""
        for _ in range(5):
            await checkpoint()
        return "done"

    requests = [Call(str(index), "Either", {"safe": index % 2 == 0}) for index in range(6)]
    with anyio.fail_after(5):
        results, _ = await run_calls(a_board(Either), requests, HERE, cap=1)
    assert [result.text for result in results] == ["done"] * 6


async def test_trap_1_hooks_after_the_act_hold_no_slot() -> None:
    done = anyio.Event()

    class Hook:
        @hookimpl
        async def after_call(self, call: Call) -> None:
            if call.name == "First":
                await done.wait()

    board = a_board(acting("First", lambda _: "1"), acting("Second", lambda _: done.set()), plugins=(Hook(),))
    with anyio.fail_after(5):
        results, _ = await run_calls(board, calls("First", "Second"), HERE, cap=1)
    assert len(results) == 2


@pytest.mark.parametrize(("where", "interrupted"), [("hook", True), ("act", False)])
async def test_trap_2_a_call_blocks_interruption_only_once_it_has_begun(where: str, interrupted: bool) -> None:
    there, go_on = anyio.Event(), anyio.Event()

    class Hook:
        @hookimpl
        async def check_permission(self) -> Allow:
            if where == "hook":
                there.set()
                await go_on.wait()
            return Allow()

    async def act(ctx: Context) -> str:
        there.set()
        await go_on.wait()
        return "finished"

    board = a_board(acting("Careful", act, interrupt_behavior="block"), plugins=(Hook(),))
    with anyio.fail_after(5):
        async with Turn(HERE, board) as turn:
            turn.add(Call("1", "Careful"))
            turn.end()
            await there.wait()
            turn.cancel()
            go_on.set()
            results = [result.text async for result in turn.results()]
    assert results == ["Careful was cancelled by the user." if interrupted else "finished"]


async def test_trap_3_a_hook_that_makes_a_call_unsafe_keeps_later_calls_from_overlapping() -> None:
    log: list[str] = []

    @tool(facts=lambda args, ctx: Facts(read_only=True, open_world=False, concurrency_safe=args.safe))
    async def Shell(args: Flag, ctx: Context) -> str:
        """Run."""
        log.append("shell begins")
        await checkpoint()
        log.append("shell ends")
        return ""

    class Rewrites:
        @hookimpl
        async def before_call(self, call: Call) -> Before | None:
            await checkpoint()
            return Before(input={"safe": False}) if call.name == "Shell" else None

    board = a_board(Shell, acting("Look", lambda _: log.append("look")), plugins=(Rewrites(),))
    await run_calls(board, calls("Look", "Shell", "Look"), HERE)
    assert log == ["look", "shell begins", "shell ends", "look"]


async def test_trap_4_a_turn_inside_a_call_waits_for_nobody_outside() -> None:
    questions = anyio.Lock()
    asked: list[str] = []

    class Person:
        @hookimpl
        async def ask_user(self, call: Call) -> Allow:
            asked.append(call.name)
            await checkpoint()
            return Allow()

        @hookimpl
        def check_permission(self) -> Ask:
            return Ask("Really?")

    async def delegate(ctx: Context) -> str:
        results, _ = await run_calls(board, calls("Inner", "Inner"), ctx, cap=1, questions=questions)
        return " ".join(result.text for result in results)

    tools = (acting("Delegate", delegate), blocking("Inner", lambda _: "inner"))
    board = a_board(*tools, plugins=(Person(),))
    with anyio.fail_after(10):
        results, _ = await run_calls(board, calls("Delegate", "Delegate", "Delegate"), HERE, cap=1, questions=questions)
    assert [result.text for result in results] == ["inner inner"] * 3
    assert sorted(asked) == ["Delegate"] * 3 + ["Inner"] * 6


async def test_trap_5_waiting_for_a_result_can_be_given_up_and_taken_up_again() -> None:
    go_on = anyio.Event()

    async def act(ctx: Context) -> str:
        await go_on.wait()
        return "late"

    with anyio.fail_after(5):
        async with Turn(HERE, a_board(acting("Slow", act), acting("Quick", lambda _: "quick"))) as turn:
            for call in calls("Slow", "Quick"):
                turn.add(call)
            turn.end()
            results = turn.results()
            with anyio.move_on_after(0) as scope:
                await anext(results)
            assert scope.cancelled_caught
            go_on.set()
            assert [result.text async for result in results] == ["late", "quick"]


async def test_trap_6_the_cascade_reaches_later_calls_only() -> None:
    failed, first_may_end = anyio.Event(), anyio.Event()

    async def first(ctx: Context) -> str:
        await failed.wait()
        return "first"

    async def fails(ctx: Context) -> str:
        failed.set()
        raise ToolError("No such branch.\nSee the log.", code="not_found")

    async def waits(ctx: Context) -> str:
        await first_may_end.wait()
        return "never"

    tools = (
        acting("First", first),
        acting("Push", fails, cascades=True, read_only=False),
        acting("Waits", waits),
        acting("Change", lambda _: "never", **PLAIN),
    )
    with anyio.fail_after(5):
        results, _ = await run_calls(
            a_board(*tools, plugins=(Permissive(),)), calls("First", "Push", "Waits", "Change"), HERE
        )
    assert [(result.text, result.code) for result in results] == [
        ("first", ""),
        ("No such branch.\nSee the log.", "not_found"),
        ("Waits was cancelled because Push failed: No such branch.", "cancelled"),
        ("Change was cancelled because Push failed: No such branch.", "cancelled"),
    ]


async def test_trap_7_changes_show_at_barriers_only_and_in_request_order() -> None:
    seen: dict[str, str] = {}
    second_is_done = anyio.Event()

    def moving(name: str, **options: Any) -> Any:
        async def act(ctx: Context) -> Output[str]:
            seen[name] = str(ctx.cwd)
            if name == "A":
                await second_is_done.wait()
            if name == "B":
                second_is_done.set()
            return Output(name, change=Change(cwd=Path("/") / name))

        return acting(name, act, **options)

    board = a_board(
        moving("A"), moving("B"), moving("C"), moving("Barrier", **PLAIN), moving("D"), plugins=(Permissive(),)
    )
    async with Turn(HERE, board, cap=2) as turn:
        for call in calls("A", "B", "C", "Barrier", "D"):
            turn.add(call)
        turn.end()
        assert len([result async for result in turn.results()]) == 5
    assert seen == {"A": "/", "B": "/", "C": "/", "Barrier": "/C", "D": "/Barrier"}
    assert turn.ctx.cwd == Path("/D")


async def test_trap_7_an_open_call_that_becomes_a_barrier_sees_what_came_before() -> None:
    seen: list[str] = []

    @tool(facts=lambda args, ctx: Facts(read_only=True, open_world=False, reads=(ctx.cwd,)))
    async def Shell(args: Nothing, ctx: Context) -> str:
        """Run."""
        seen.append(str(ctx.cwd))
        return ""

    move = acting("Move", lambda _: Output("", change=Change(cwd=Path("/moved"))))
    await run_calls(a_board(move, Shell), calls("Move", "Shell"), HERE)
    assert seen == ["/moved"]


class Files:
    """A file memory that notes what it was told to forget."""

    def __init__(self) -> None:
        self.forgotten: list[Path] = []

    def forget(self, path: Path) -> None:
        self.forgotten.append(path)


def a_writer(go_on: threading.Event, log: list[str]) -> Any:
    def facts(args: Nothing, ctx: Context) -> Facts:
        return Facts(writes=(Path("/notes"),))

    @tool(facts=facts)
    def Scribble(args: Nothing, ctx: Context) -> str:
        """Scribble slowly."""
        log.append("write begins")
        go_on.wait(10)
        log.append("write ends")
        return ""

    return Scribble


async def test_trap_8_the_next_change_waits_for_an_abandoned_writer() -> None:
    go_on, log = threading.Event(), []
    next_is_asked = anyio.Event()

    class Hook(Permissive):
        @hookimpl
        def before_call(self, call: Call) -> None:
            if call.name == "Change":
                next_is_asked.set()

    board = a_board(a_writer(go_on, log), acting("Change", lambda _: log.append("change"), **PLAIN), plugins=(Hook(),))
    limits: Callable[[Any], Limits] = lambda tool: Limits(timeout=0.05 if tool.name == "Scribble" else None)  # noqa: E731
    with anyio.fail_after(10):
        async with Turn(HERE, board, cascade=False, limits=limits) as turn:
            for call in calls("Scribble", "Change"):
                turn.add(call)
            turn.end()
            await next_is_asked.wait()
            assert log == ["write begins"]
            go_on.set()
            results = [result async for result in turn.results()]
    assert log == ["write begins", "write ends", "change"]
    assert [result.text for result in results] == ["Scribble timed out after 0.05 s.", "null"]
    assert results[1].notes == ()


async def test_trap_8_a_writer_that_goes_on_for_too_long_is_told_of_even_in_the_next_turn() -> None:
    go_on, log, files, watching, abandoned = threading.Event(), [], Files(), Watching(), AbandonedThreads()
    board = a_board(
        a_writer(go_on, log), acting("Change", lambda _: log.append("change"), **PLAIN), plugins=(watching,)
    )
    ctx = Context(Path("/"), services=Services(files=files))  # type: ignore[arg-type]
    try:
        with anyio.fail_after(10):
            limits = {"limits": lambda tool: Limits(timeout=0.05)}
            await run_calls(board, calls("Scribble"), ctx, abandoned=abandoned, **limits)
            results, _ = await run_calls(board, calls("Change", "Change"), ctx, abandoned=abandoned, patience=0.05)
        assert log == ["write begins", "change", "change"]
    finally:
        go_on.set()
    assert results[0].notes == (
        "Scribble was stopped earlier but is still running: it may change things during this call.",
    )
    assert results[1].notes == ()
    assert files.forgotten == [Path("/notes")]
    assert [event.data["name"] for event in watching.of("call_abandoned")] == ["Scribble"]


@pytest.mark.parametrize("make", [acting, blocking])
@pytest.mark.parametrize("error", [SystemExit(1), StopIteration(), BaseExceptionGroup("x", [SystemExit(1)])])
async def test_trap_9_a_tool_that_ends_the_program_gets_a_result(make: Any, error: BaseException) -> None:
    def act(ctx: Context) -> str:
        raise error

    results, _ = await run_calls(
        a_board(make("Exits", act), acting("Next", lambda _: "next")), calls("Exits", "Next"), HERE
    )
    assert results[0].code == "internal"
    assert results[0].text.startswith("Exits failed because of a bug")
    assert results[1].text == "next"


async def test_trap_9_an_interrupt_in_a_thread_is_not_ctrl_c() -> None:
    def act(ctx: Context) -> str:
        raise KeyboardInterrupt

    results, _ = await run_calls(a_board(blocking("Odd", act)), calls("Odd"), HERE)
    assert results[0].code == "internal"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_trap_9_a_cancellation_that_a_tool_makes_up_is_a_result(anyio_backend: str) -> None:
    async def act(ctx: Context) -> str:
        raise asyncio.CancelledError

    with anyio.fail_after(5):
        results, _ = await run_calls(
            a_board(acting("Odd", act), acting("Next", lambda _: "next")), calls("Odd", "Next"), HERE
        )
    assert [result.code for result in results] == ["internal", ""]


@pytest.mark.parametrize("pauses", range(6))
async def test_trap_10_a_late_cancellation_hits_no_other_call(pauses: int) -> None:
    """One worker runs both calls; the first is cancelled around the moment in which it ends."""

    async def act(ctx: Context) -> str:
        await checkpoint()
        await checkpoint()
        return "done"

    with anyio.fail_after(5):
        async with Turn(HERE, a_board(acting("Act", act, concurrency_safe=False))) as turn:
            for call in calls("Act", "Act"):
                turn.add(call)
            turn.end()
            for _ in range(pauses):
                await checkpoint()
            turn.cancel(only="0")
            results = [result.text async for result in turn.results()]
    assert results[0] in ("done", "Act was cancelled by the user.")
    assert results[1] == "done"


async def test_trap_10_a_call_cancelled_while_it_gets_its_slot_does_not_act() -> None:
    acted: list[str] = []

    class Hook:
        @hookimpl
        async def check_permission(self) -> None:
            await checkpoint()  # So that both calls have come as far as the slot.

        @hookimpl
        def after_call(self, call: Call) -> None:
            if call.name == "First":
                turn.cancel(only="1")  # In the tick in which the slot came free.

    async def first(ctx: Context) -> None:
        for _ in range(5):
            await checkpoint()

    board = a_board(acting("First", first), acting("Second", lambda _: acted.append("second")), plugins=(Hook(),))
    with anyio.fail_after(5):
        async with Turn(HERE, board, cap=1) as turn:
            for call in calls("First", "Second"):
                turn.add(call)
            turn.end()
            results = [result.text async for result in turn.results()]
    assert results == ["null", "Second was cancelled by the user."]
    assert not acted
