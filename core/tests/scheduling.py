"""Random turns played on a real board, and a model of what they must answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from hypothesis import strategies as st

from pegboard import (
    Allow,
    Ask,
    Before,
    Board,
    Call,
    Change,
    Context,
    Deny,
    Event,
    Facts,
    Input,
    Output,
    Result,
    ToolError,
    hookimpl,
    tool,
)
from pegboard.execution.turn import Turn
from pegboard.settings import Settings

KINDS = ("reader", "writer", "serial", "open")


@dataclass(frozen=True)
class Step:
    """One call of a random turn: how its tool is declared, what happens on its way, and how it ends."""

    kind: str = "reader"
    safe: bool = True
    read_only: bool = True
    rewrite: bool = False
    arrive: int = 0
    hook: int = 0
    ask: int = 0
    steps: int = 0
    fate: str = "ok"
    cascades: bool = False
    changes: bool = False
    blocks: bool = False

    @property
    def unsafe(self) -> bool:
        """Whether the call must be alone, once its input is final."""
        return self.kind == "serial" or (self.kind == "open" and (not self.safe or self.rewrite))

    @property
    def reads(self) -> bool:
        """Whether the call only reads."""
        return self.kind == "reader" or (self.kind == "open" and self.read_only)

    @property
    def tool(self) -> str:
        """The name of the tool that is called."""
        return "Nobody" if self.fate == "unknown" else tool_name(self.kind, self.cascades, self.blocks)


plans = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from(KINDS),
        safe=st.booleans(),
        read_only=st.booleans(),
        rewrite=st.sampled_from([False, False, True]),
        arrive=st.integers(0, 3),
        hook=st.sampled_from([0, 0, 1, 3]),
        ask=st.sampled_from([0, 0, 0, 2, 5]),
        steps=st.integers(0, 4),
        fate=st.sampled_from(["ok"] * 6 + ["fail", "crash", "exit", "deny", "invalid", "unknown"]),
        cascades=st.booleans(),
        changes=st.booleans(),
        blocks=st.sampled_from([False, False, True]),
    ),
    max_size=12,
)


async def pause(times: int) -> None:
    for _ in range(times):
        await checkpoint()


class StepInput(Input):
    index: int
    safe: bool = True
    read_only: bool = True


def tool_name(kind: str, cascades: bool, blocks: bool) -> str:
    return kind.title() + "Cascading" * cascades + "Blocking" * blocks


@dataclass
class World:
    """What the tools of one turn do to each other, and every rule that they saw broken."""

    plan: list[Step]
    eager: str = "safe"
    ended: bool = False
    state: tuple[int, ...] = ()
    acting: dict[int, Step] = field(default_factory=dict)
    peak: int = 0
    asking: int = 0
    begun: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    async def act(self, args: StepInput, ctx: Context) -> Output[str]:
        index, step = args.index, self.plan[args.index]
        self._enter(index, step)
        seen, before = (ctx.cwd.name, *sorted(ctx.loaded_tools)), self.state
        try:
            await pause(step.steps)
            if self.state != before:
                self.faults.append(f"the world moved under call {index}")
            self._fail(step)
            if step.unsafe:
                self.state += (index,)
        finally:
            del self.acting[index]
        change = Change(cwd=Path(f"/c{index}"), loaded_tools=(f"t{index}",)) if step.changes else None
        return Output(json.dumps([self.state, seen]), change=change)

    def _enter(self, index: int, step: Step) -> None:
        if index in self.begun:
            self.faults.append(f"call {index} ran twice")
        if self.acting and (step.unsafe or any(other.unsafe for other in self.acting.values())):
            self.faults.append(f"call {index} overlaps with {sorted(self.acting)}")
        if not self.ended and self.eager == "safe" and (step.unsafe or not step.reads):
            self.faults.append(f"call {index} acted before the message was complete")
        self.begun.add(index)
        self.acting[index] = step
        self.peak = max(self.peak, len(self.acting))

    def _fail(self, step: Step) -> None:
        if step.fate == "fail":
            raise ToolError("It broke.\nBadly.", code="not_found")
        if step.fate == "crash":
            raise ValueError("a bug")
        if step.fate == "exit":
            raise SystemExit(3)


class Stage:
    """A real board whose tools and hooks play the plan of the world that is on stage."""

    def __init__(self) -> None:
        self.world = World([])
        tools = [self._tool(kind, c, b) for kind in KINDS for c in (False, True) for b in (False, True)]
        self.board = Board(Settings(), [], plugins=[self], tools=tools, env={})

    def _tool(self, kind: str, cascades: bool, blocks: bool) -> Any:
        def facts(args: StepInput, ctx: Context) -> Facts:
            return Facts(read_only=args.read_only, concurrency_safe=args.safe)

        async def act(args: StepInput, ctx: Context) -> Output[str]:
            """Play a step."""
            return await self.world.act(args, ctx)

        options: dict[str, Any] = {"facts": facts} if kind == "open" else {"concurrency_safe": kind != "serial"}
        options |= {"interrupt_behavior": "block" if blocks else "cancel", "cascades": cascades}
        options |= {"read_only": kind == "reader", "open_world": True}
        return made(act, tool_name(kind, cascades, blocks), options)

    @hookimpl
    async def before_call(self, args: StepInput) -> Before:
        step = self.world.plan[args.index]
        await pause(step.hook)
        rewritten = {"index": args.index, "safe": False, "read_only": args.read_only} if step.rewrite else None
        decision = Ask("May it?") if step.ask else Deny("No.") if step.fate == "deny" else Allow()
        return Before(input=rewritten, decision=decision)

    @hookimpl
    async def ask_user(self, call: Call) -> Allow | Deny:
        step, world = self.world.plan[int(call.id)], self.world
        world.asking += 1
        if world.asking > 1:
            world.faults.append("two questions at once")
        try:
            await pause(step.ask)
        finally:
            world.asking -= 1
        return Deny("No.") if step.fate == "deny" else Allow()

    @hookimpl
    def observe(self, event: Event) -> None:
        self.world.events.append(event)


@dataclass
class Played:
    """A turn that is over."""

    world: World
    turn: Turn
    results: list[Result]


@dataclass(frozen=True)
class Stop:
    """A cancellation in the midst of a turn."""

    at: int
    only: int | None = None
    force: bool = False


def play(
    stage: Stage, backend: str, plan: list[Step], *, cap: int, eager: str = "safe", stop: Stop | None = None
) -> Played:
    return anyio.run(_play, stage, plan, cap, eager, stop, backend=backend)


async def _play(stage: Stage, plan: list[Step], cap: int, eager: Any, stop: Stop | None) -> Played:
    world = stage.world = World(plan, eager)
    results: list[Result] = []

    async def feed() -> None:
        for index, step in enumerate(plan):
            await pause(step.arrive)
            given: dict[str, Any] = {"index": "x"} if step.fate == "invalid" else {"index": index}
            if step.kind == "open":
                given |= {"safe": step.safe, "read_only": step.read_only}
            turn.add(Call(str(index), step.tool, given))
        world.ended = True
        turn.end()

    async def cancel(stop: Stop) -> None:
        await pause(stop.at)
        turn.cancel(only=None if stop.only is None else str(stop.only), force=stop.force)

    with anyio.fail_after(5):
        async with (
            anyio.create_task_group() as outer,
            Turn(Context(Path("/")), stage.board, cap=cap, eager=eager) as turn,
        ):
            outer.start_soon(feed)
            if stop:
                outer.start_soon(cancel, stop)
            results.extend([result async for result in turn.results()])
    return Played(world, turn, results)


def a_board(*tools: Any, plugins: tuple[object, ...] = ()) -> Board:
    """A real board with these tools and nothing else."""
    return Board(Settings(), [], tools=tools, plugins=plugins, env={})


def calls(*names: str) -> list[Call]:
    """A call of each tool, with its place as id."""
    return [Call(str(index), name, {}) for index, name in enumerate(names)]


class Nothing(Input):
    """No arguments."""


def made(act: Any, name: str, options: dict[str, Any]) -> Any:
    """A tool that only reads and may overlap, unless the options say otherwise."""
    flags: Any = {"name": name, "read_only": True, "concurrency_safe": True, "open_world": False} | options
    return tool(**flags)(act)


def acting(name: str, act: Callable[[Context], Any], **options: Any) -> Any:
    """An awaiting tool without arguments; unless told otherwise it only reads and may overlap."""

    async def run(args: Nothing, ctx: Context) -> Any:
        """Act."""
        value = act(ctx)
        return await value if isawaitable(value) else value

    return made(run, name, options)


def blocking(name: str, act: Callable[[Context], Any], **options: Any) -> Any:
    """A tool like that which runs in a thread."""

    def run(args: Nothing, ctx: Context) -> Any:
        """Act."""
        return act(ctx)

    return made(run, name, options)


class Permissive:
    """A plugin that allows everything."""

    @hookimpl
    def check_permission(self) -> Allow:
        return Allow()


CANCELLED = ("cancelled",)


def sequential(plan: list[Step]) -> tuple[tuple[int, ...], tuple[str, ...], list[tuple[Any, ...]]]:
    """What one call after another would answer. Changes of neighbours that may overlap show at the next barrier."""
    state: tuple[int, ...] = ()
    changed: list[int] = []
    waiting: list[int] = []
    answers: list[tuple[Any, ...]] = []
    stopped = False

    for index, step in enumerate(plan):
        if stopped:
            answers.append(CANCELLED)
            continue
        settles = step.fate != "unknown" and (step.fate != "invalid" or step.kind == "serial")
        if step.unsafe and settles:
            changed, waiting = changed + waiting, []
        if step.fate == "ok":
            state += (index,) if step.unsafe else ()
            answers.append(("ok", [list(state), list(seen_after(changed))]))
            if step.changes:
                (changed if step.unsafe else waiting).append(index)
            continue
        answers.append((step.fate,))
        reads = step.kind == "reader" if step.fate == "invalid" else step.reads
        stopped = step.cascades and not reads and step.fate in ("fail", "crash", "exit", "invalid")
    return state, seen_after(changed + waiting), answers


def seen_after(changed: list[int]) -> tuple[str, ...]:
    """The context after these changes, as the tools tell it."""
    return (f"c{changed[-1]}" if changed else "", *sorted(f"t{index}" for index in changed))


CODE_OF = {
    "fail": "not_found",
    "crash": "internal",
    "exit": "internal",
    "deny": "permission_denied",
    "invalid": "invalid_input",
    "unknown": "not_found",
}


def check_rules(played: Played, cap: int) -> None:
    """What holds for every turn, whatever happened to it."""
    world, turn, plan = played.world, played.turn, played.world.plan
    assert not world.faults, world.faults
    assert [result.call_id for result in played.results] == [str(index) for index in range(len(plan))]
    assert world.peak <= cap
    assert not world.acting
    assert not world.asking
    assert turn.slots.value == cap
    assert turn.acting == turn.queue.running == 0
    finished = [event.data["id"] for event in world.events if event.kind == "call_finished"]
    assert sorted(finished, key=int) == [str(index) for index in range(len(plan))]


def check_sequential(played: Played, cap: int) -> None:
    """The turn answered as if its calls had run one after another."""
    check_rules(played, cap)
    plan = played.world.plan
    state, seen, wanted = sequential(plan)
    assert played.world.state == state
    for index, (result, want, step) in enumerate(zip(played.results, wanted, plan, strict=True)):
        if result.code == "cancelled":
            assert want == CANCELLED
            assert result.text.startswith(f"{step.tool} was cancelled because ")
        elif want == CANCELLED:  # It had finished before the failure was known: then it changed nothing.
            assert not step.unsafe or index not in played.world.begun
        elif want[0] == "ok":
            assert not result.is_error, result.text
            assert json.loads(result.text) == want[1]
        else:
            assert result.code == CODE_OF[want[0]], result.text
    if CANCELLED not in wanted:
        ctx = played.turn.ctx
        assert (ctx.cwd.name, *sorted(ctx.loaded_tools)) == seen


def check_cancelled(played: Played, cap: int, stop: Stop) -> None:
    """The turn was stopped: its effects are the first of those it would have had."""
    check_rules(played, cap)
    plan, world = played.world.plan, played.world
    if stop.only is None:
        state, _, _ = sequential(plan)
        assert world.state == state[: len(world.state)]
    for index, (result, step) in enumerate(zip(played.results, plan, strict=True)):
        if result.code == "cancelled" and "by the user" in result.text:
            assert stop.only in (None, index)
            assert stop.force or not (step.blocks and index in world.begun)
