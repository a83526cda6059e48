"""Where the kit runs a tool: a sample tree, a board with nothing else on it, and somebody who approves."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio

from pegboard.board import Board
from pegboard.calls import Allow, Block, Call, Result
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.errors import ToolError
from pegboard.execution.bound import BoundHooks, settled
from pegboard.execution.dispatch import Ready, runner
from pegboard.execution.scheduler import run_calls
from pegboard.inputs import Input, validate
from pegboard.settings import load
from pegboard.testing.answers import Answers
from pegboard.testing.trees import Snapshot, plant, snapshot

TICK = 0.01
T = TypeVar("T")
Wrap = Callable[[Tool[Any, Any], Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]


@dataclass(frozen=True, slots=True)
class Ran:
    """One call and everything that could be seen of it."""

    given: dict[str, Any]
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


@dataclass(frozen=True, slots=True)
class Case:
    """A tool and the settings under which it is tested, as the command line would give them."""

    tool: Tool[Any, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)


class Stand:
    """One board with one tool, in a fresh sample tree. It is what a turn needs of a board."""

    def __init__(self, case: Case, folder: Path, wrap: Wrap | None = None) -> None:
        tool = case.tool
        self.tool, self.folder = tool, plant(folder / "work")
        answers = Answers()
        answers.decision = Allow("Approved by the kit.", layer="ask")
        env = {"HOME": str(folder / "home"), "PATH": os.environ.get("PATH", "")}
        settings = load(self.folder, env, case.settings, managed=str(folder / "managed"))
        self._board = Board(settings, [], plugins=[answers], env=env)
        self.hooks: BoundHooks = self._board.hooks
        execute = runner(tool, self.hooks.wrap_execute)
        self._ready = Ready(tool, "the tool under test", wrap(tool, execute) if wrap else execute)

    @property
    def ctx(self) -> Context:
        """A context in the tree."""
        return self._board.context()

    def find(self, name: str) -> Ready:
        """The tool under test; there is no other."""
        if name != self.tool.name:
            raise ToolError(f"Only {self.tool.name} is under test.", code="not_found")
        return self._ready

    def equip(self, ctx: Context) -> Context:
        """No plugin surrounds processes here."""
        return ctx

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """As a real board does it."""
        return await self._board.fit(tool, blocks, call)

    async def run(self, inputs: Iterable[dict[str, Any]], **options: Any) -> list[Result]:
        """The calls of one turn."""
        calls = [Call(f"call-{number}", self.tool.name, given) for number, given in enumerate(inputs)]
        results, _ = await run_calls(self, calls, self.ctx, **options)
        return results

    def words(self, result: Result) -> str:
        """What the model reads, wherever the tree happens to be."""
        return words(result, self.folder)


def words(result: Result, folder: Path) -> str:
    """The text of a result without the name of the temporary folder."""
    return result.text.replace(str(folder), "{cwd}")


@contextmanager
def stand(case: Case, wrap: Wrap | None = None) -> Generator[Stand, None, None]:
    """A stand in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="pegboard-contract-", ignore_cleanup_errors=True) as folder:
        yield Stand(case, Path(folder).resolve(), wrap)


class Act:
    """Surrounds the act of one call to see whether it began, what it returned and whether it changed its input."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.returned: list[Any] = []
        self.args_changed = False

    def wrap(self, tool: Tool[Any, Any], execute: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
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


async def watch(case: Case, given: dict[str, Any]) -> Ran:
    """Run one call in a tree of its own and look at everything."""
    act, tool = Act(), case.tool
    with stand(case, act.wrap) as place:
        args, _ = validate(tool.name, tool.input, given)
        facts: Facts = await settled(tool.facts(args, place.ctx))
        before = snapshot(place.folder)
        beat, began = _Heartbeat(), time.perf_counter()
        results: list[Result] = []
        async with anyio.create_task_group() as group:
            group.start_soon(beat.run)
            await anyio.sleep(TICK)
            results += await place.run([given])
            beat.stop()
            group.cancel_scope.cancel()
        return Ran(
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


class _Heartbeat:
    """Notices when the event loop stands still."""

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
