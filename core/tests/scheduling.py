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

KINDS = ("reader", "writer", "serial", "open", "paths")
PLACES = ("/w/a", "/w/d", "/w/d/x", "/w/d/y")
"""What calls of the kind "paths" touch. None of them exists; one is a folder of another."""


@dataclass(frozen=True)
class Step:
    """One call of a random turn: how its tool is declared, what happens on its way, and how it ends."""

    kind: str = "reader"
    safe: bool = True
    read_only: bool = True
    rewrite: bool = False
    arrive: int = 0
    hook: int = 0
    think: int = 0
    ask: int = 0
    steps: int = 0
    fate: str = "ok"
    cascades: bool = False
    changes: bool = False
    blocks: bool = False
    alone: bool = False
    written: frozenset[str] = frozenset()
    looked: frozenset[str] = frozenset()

    @property
    def unsafe(self) -> bool:
        """Whether the call is not safe, once its input is final."""
        return self.kind == "serial" or (self.kind in ("open", "paths") and (not self.declared_safe or self.rewrite))

    @property
    def declared_safe(self) -> bool:
        return self.safe and not (self.kind == "paths" and self.written)

    @property
    def named(self) -> bool:
        """Whether it names all that it touches, and nothing else keeps others away from it."""
        paths = self.kind == "paths" and bool(self.written or self.looked)
        return paths and not self.cascades and not self.alone

    @property
    def reads(self) -> bool:
        """Whether the call only reads."""
        return self.kind == "reader" or (self.kind in ("open", "paths") and self.declared_read_only)

    @property
    def declared_read_only(self) -> bool:
        return self.read_only and not (self.kind == "paths" and self.written)

    def conflicts_with(self, other: Step) -> bool:
        """Whether the two must not overlap."""
        if not self.unsafe and not other.unsafe:
            return False
        if not (self.named and other.named):
            return True
        return meet(self.written, other.written | other.looked) or meet(other.written, self.looked)

    @property
    def tool(self) -> str:
        """The name of the tool that is called."""
        return "Nobody" if self.fate == "unknown" else tool_name(self.kind, self.cascades, self.blocks)


def meet(these: frozenset[str], those: frozenset[str]) -> bool:
    return any((a + "/").startswith(b + "/") or (b + "/").startswith(a + "/") for a in these for b in those)


some_places = st.frozensets(st.sampled_from(PLACES), max_size=2)
plans = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from((*KINDS, "paths", "paths")),
        safe=st.booleans(),
        read_only=st.booleans(),
        rewrite=st.sampled_from([False, False, True]),
        arrive=st.integers(0, 3),
        hook=st.sampled_from([0, 0, 1, 3]),
        think=st.sampled_from([0, 0, 0, 3]),
        ask=st.sampled_from([0, 0, 0, 2, 5]),
        steps=st.integers(0, 4),
        fate=st.sampled_from(["ok"] * 6 + ["fail", "crash", "exit", "deny", "invalid", "unknown"]),
        cascades=st.sampled_from([False, False, True]),
        changes=st.booleans(),
        blocks=st.sampled_from([False, False, True]),
        alone=st.sampled_from([False] * 5 + [True]),
        written=some_places,
        looked=some_places,
    ),
    max_size=12,
)


path_plans = st.lists(
    st.builds(
        Step,
        kind=st.just("paths"),
        safe=st.booleans(),
        hook=st.sampled_from([0, 1, 3]),
        think=st.sampled_from([0, 5]),
        ask=st.sampled_from([0, 2]),
        steps=st.integers(0, 4),
        changes=st.booleans(),
        alone=st.sampled_from([False, False, True]),
        written=some_places,
        looked=some_places,
    ),
    max_size=6,
)
"""Turns of nothing but calls that name what they touch."""


async def pause(times: int) -> None:
    for _ in range(times):
        await checkpoint()


class StepInput(Input):
    index: int
    safe: bool = True
    read_only: bool = True
    written: list[str] = []
    looked: list[str] = []


def tool_name(kind: str, cascades: bool, blocks: bool) -> str:
    return kind.title() + "Cascading" * cascades + "Blocking" * blocks


@dataclass
class World:
    """What the tools of one turn do to each other, and every rule that they saw broken."""

    plan: list[Step]
    eager: str = "safe"
    ended: bool = False
    state: tuple[int, ...] = ()
    files: dict[str, tuple[int, ...]] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    acting: dict[int, Step] = field(default_factory=dict)
    peak: int = 0
    asking: int = 0
    begun: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    async def act(self, args: StepInput, ctx: Context) -> Output[str]:
        index, step = args.index, self.plan[args.index]
        self._enter(index, step)
        seen, before = (ctx.cwd.name, *sorted(ctx.loaded_tools)), (self.state, found_in(self.files, step))
        try:
            await pause(step.steps)
            if (self.state, found_in(self.files, step)) != before:
                self.faults.append(f"the world moved under call {index}")
            self._fail(step)
            if step.kind == "paths":
                write(self.files, step, index)
            elif step.unsafe:
                self.state += (index,)
        finally:
            del self.acting[index]
        change = Change(cwd=Path(f"/c{index}"), loaded_tools=(f"t{index}",)) if step.changes else None
        return Output(json.dumps([self.state, found_in(self.files, step), seen]), change=change)

    def _enter(self, index: int, step: Step) -> None:
        if index in self.begun:
            self.faults.append(f"call {index} ran twice")
        if any(step.conflicts_with(other) for other in self.acting.values()):
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


def found_in(files: dict[str, tuple[int, ...]], step: Step) -> list[list[Any]]:
    """What a call sees of the files that it names; a folder shows what is in it."""
    if step.kind != "paths":
        return []
    touched = step.written | step.looked
    return [[path, list(files[path])] for path in sorted(files) if meet(touched, frozenset({path}))]


def write(files: dict[str, tuple[int, ...]], step: Step, index: int) -> None:
    for path in step.written:
        files[path] = (*files.get(path, ()), index)


class Stage:
    """A real board whose tools and hooks play the plan of the world that is on stage."""

    def __init__(self) -> None:
        self.world = World([])
        tools = [self._tool(kind, c, b) for kind in KINDS for c in (False, True) for b in (False, True)]
        self.board = Board(Settings(), [], plugins=[self], tools=tools, env={})

    def _tool(self, kind: str, cascades: bool, blocks: bool) -> Any:
        def facts(args: StepInput, ctx: Context) -> Facts:
            paths = {"reads": tuple(map(Path, args.looked)), "writes": tuple(map(Path, args.written))}
            open_world = kind != "paths"
            return Facts(read_only=args.read_only, concurrency_safe=args.safe, open_world=open_world, **paths)

        async def act(args: StepInput, ctx: Context) -> Output[str]:
            """Play a step."""
            return await self.world.act(args, ctx)

        options: dict[str, Any] = (
            {"facts": facts} if kind in ("open", "paths") else {"concurrency_safe": kind != "serial"}
        )
        options |= {"interrupt_behavior": "block" if blocks else "cancel", "cascades": cascades}
        options |= {"read_only": kind == "reader", "open_world": True}
        return made(act, tool_name(kind, cascades, blocks), options)

    @hookimpl
    async def before_call(self, args: StepInput) -> Before:
        step = self.world.plan[args.index]
        await pause(step.hook)
        rewritten = {**args.model_dump(), "safe": False} if step.rewrite else None
        decision = Ask("May it?") if step.ask else Deny("No.") if step.fate == "deny" else Allow()
        return Before(input=rewritten, decision=decision, alone=step.alone)

    @hookimpl
    async def check_permission(self, args: StepInput) -> None:
        await pause(self.world.plan[args.index].think)

    @hookimpl
    async def ask_user(self, call: Call) -> Allow | Deny:
        step, world = self.world.plan[int(call.id)], self.world
        world.asking += 1
        if world.asking > 1:
            world.faults.append("two questions at once")
        later = [index for index in world.asked if index > int(call.id)]
        if any(step.unsafe or world.plan[index].unsafe for index in later):
            world.faults.append(f"call {call.id} asks after {later}")
        world.asked.append(int(call.id))
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
            if step.kind in ("open", "paths") and step.fate != "invalid":
                given |= {"safe": step.declared_safe, "read_only": step.declared_read_only}
            if step.kind == "paths":
                given |= {"written": sorted(step.written), "looked": sorted(step.looked)}
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


@dataclass
class Sequence:
    """What one call after another does. Changes of neighbours that may overlap show at the next barrier."""

    state: tuple[int, ...] = ()
    files: dict[str, tuple[int, ...]] = field(default_factory=dict)
    changed: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    group: list[Step] = field(default_factory=list)
    answers: list[tuple[Any, ...]] = field(default_factory=list)
    stopped: bool = False

    def add(self, index: int, step: Step) -> None:
        if self.stopped:
            self.answers.append(CANCELLED)
            return
        settles = step.fate != "unknown" and (step.fate != "invalid" or step.kind == "serial")
        alone = step.unsafe and not step.named
        if settles:
            if alone or any(step.conflicts_with(other) for other in self.group):
                self.changed, self.waiting, self.group = self.changed + self.waiting, [], []
            if not alone:
                self.group.append(step)
        if step.fate == "ok":
            self._act(index, step, alone)
            return
        self.answers.append((step.fate,))
        reads = step.kind == "reader" if step.fate == "invalid" else step.reads
        self.stopped = step.cascades and not reads and step.fate in ("fail", "crash", "exit", "invalid")

    def _act(self, index: int, step: Step, alone: bool) -> None:
        if step.kind == "paths":
            write(self.files, step, index)
        elif step.unsafe:
            self.state += (index,)
        self.answers.append(("ok", [list(self.state), found_in(self.files, step), list(seen_after(self.changed))]))
        if step.changes:
            (self.changed if alone else self.waiting).append(index)


def sequential(plan: list[Step]) -> Sequence:
    done = Sequence()
    for index, step in enumerate(plan):
        done.add(index, step)
    return done


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
    done = sequential(plan)
    wanted, seen = done.answers, seen_after(done.changed + done.waiting)
    assert (played.world.state, played.world.files) == (done.state, done.files)
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
        done = sequential(plan)
        assert world.state == done.state[: len(world.state)]
        for path, written in world.files.items():
            assert written == done.files[path][: len(written)]
    for index, (result, step) in enumerate(zip(played.results, plan, strict=True)):
        if result.code == "cancelled" and "by the user" in result.text:
            assert stop.only in (None, index)
            assert stop.force or not (step.blocks and index in world.begun)
