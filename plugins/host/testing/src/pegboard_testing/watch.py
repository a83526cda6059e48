"""Run a call and see everything that can be seen of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from pegboard import Context, Facts, Input, Result, Tool, ToolError
from pegboard.hosting import maybe_await, validate
from pegboard_testing.harness import Case, Example, Execute, stand, words
from pegboard_testing.trees import Snapshot, snapshot

TICK = 0.01
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """One call and everything that could be seen of it."""

    example: Example
    given: dict[str, Any]
    """The input that the example came to."""
    facts: Facts
    result: Result
    returned: list[Any]
    """What the act returned; empty if it raised or was never reached."""
    args_changed: bool
    acted: bool
    before: Snapshot
    after: Snapshot
    folder: Path
    seconds: float
    stall: float
    """The longest time in seconds in which the event loop could do nothing else."""

    @property
    def words(self) -> str:
        """What the model reads, wherever the tree was."""
        return words(self.result, self.folder)


class Act:
    """Surrounds the act of one call to see whether it began, what it returned and whether it changed its input."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.returned: list[Any] = []
        self.args_changed = False

    def wrap(self, tool: Tool[Any, Any], execute: Execute) -> Execute:
        """Take note and let it run."""

        async def watched(args: Input, ctx: Context) -> Any:
            before = args.model_copy(deep=True)
            self.began.set()
            try:
                value = await execute(args, ctx)
            finally:
                self.args_changed = args != before
            self.returned.append(value)
            return value

        return watched


async def watch(case: Case, example: Example) -> WatchedCall:
    """Run one call in a session and a tree of its own, and look at everything."""
    act, tool = Act(), case.tool
    async with stand(case, act.wrap) as place:
        given = await place.input(example)
        args, _ = validate(tool.name, tool.input, given)
        facts = await _facts(tool, args, place.ctx)
        before = snapshot(place.folder)
        beat, began = _Heartbeat(), time.perf_counter()
        results: list[Result] = []
        async with anyio.create_task_group() as group:
            group.start_soon(beat.run)
            await anyio.sleep(TICK)
            results += await place.run([given])
            beat.stop()
            group.cancel_scope.cancel()
        return WatchedCall(
            example=example,
            given=given,
            facts=facts,
            result=results[0],
            returned=act.returned,
            args_changed=act.args_changed,
            acted=act.began.is_set(),
            before=before,
            after=snapshot(place.folder),
            folder=place.folder,
            seconds=time.perf_counter() - began,
            stall=beat.longest,
        )


async def _facts(tool: Tool[Any, Any], args: Input, ctx: Context) -> Facts:
    try:
        found: Facts = await maybe_await(tool.facts(args, ctx))
    except ToolError:
        return Facts()  # The call is refused before any question is asked; its result says why.
    return found


class _Heartbeat:
    """Notices when the event loop is blocked."""

    def __init__(self) -> None:
        self.longest, self._last = 0.0, time.perf_counter()

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            await anyio.sleep(TICK)
            self.stop()

    def stop(self) -> None:
        """Count the time since the last beat."""
        now = time.perf_counter()
        self.longest, self._last = max(self.longest, now - self._last - TICK), now


class TookTooLongError(Exception):
    """The tool did not come to an end in the time that it was given."""


def within(seconds: float, function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run an async function in a thread of its own: a tool that never ends must not stop the tests."""
    ended: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            ended.append(anyio.run(function, *args))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TookTooLongError
    if failed:
        raise failed[0]
    return ended[0]


def inside(facts: Facts, folder: Path) -> bool:
    """Whether a call with these facts stays in the tree, so that it may be run with invented input."""
    touched: Sequence[Path] = (*facts.reads, *facts.writes, *facts.deletes)
    at_home = all(Path(os.path.realpath(path)).is_relative_to(folder) for path in touched)
    return at_home and not facts.open_world and not facts.destructive
