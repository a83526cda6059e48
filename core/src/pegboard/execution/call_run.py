"""One call on its way: what the model sent, and everything that becomes known about it until it has its result."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pegboard.calls import Block, Call, Decision
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.execution.hooks import BoundHooks

if TYPE_CHECKING:
    from pegboard_files import Files


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool that can run: itself, who owns it, and its execution with every `wrap_execute` around it."""

    tool: Tool[Any, Any]
    owner: str
    execute: Callable[[Any, Context], Awaitable[Any]]
    deferred: bool = False
    """Whether the model does not see the tool before it is fetched."""


class ToolHost(Protocol):
    """What dispatch needs of a board."""

    hooks: BoundHooks

    def find(self, name: str) -> BoundTool:
        """The tool behind a name, or a `ToolError`."""
        ...

    def equip(self, ctx: Context) -> Context:
        """The context with this board's hooks around its services."""
        ...

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """The content within the tool's limit; what is too long is saved and previewed."""
        ...


class CallRun:
    """A call by itself: there is nothing to wait for. In a turn, and inside another call, subclasses wait."""

    tool: Tool[Any, Any]
    ctx: Context
    """The context of this call: it knows the call's id, and what the tool may open."""
    args: Any
    facts: Facts
    has_facts: bool = False
    decision: Decision | None
    opinions: list[Decision]
    """What hooks, the tool and plugins think of the call."""
    remarks: list[str]
    """What hooks want the model to read after the result."""
    stop: str
    """Why the model must not go on after this turn, by the first hook that said so."""
    approved: str
    """The hash of the input that a person approved."""
    approved_paths: Mapping[str, bool] | None
    """The real paths that the decision is about, and whether each may be changed."""
    nested_files: Files | None
    """What the calls that the tool makes know of files: a copy of what the tool knew, gone with this call."""
    began: float = 0.0
    asked_seconds: float = 0.0
    """How long people thought about questions of this call: that is not the time of the call."""

    def __init__(self, call: Call, base: Context, bound: BoundTool | None = None) -> None:
        self.call, self.base, self.bound = call, base, bound

    def restart(self) -> None:
        """Forget what an earlier dispatch found out: the context has changed, and everything is asked again."""
        self.ctx = self.context()
        self.args = self.decision = self.approved_paths = self.nested_files = None
        self.opinions, self.remarks = [], []
        self.stop = self.approved = ""
        self.began = self.began or time.perf_counter()

    def context(self) -> Context:
        """The context for this call."""
        return self.base.for_call(self.call.id, self.base.on_progress)

    def note(self, context: str, stop: str) -> None:
        """Keep what one hook said; the first reason to stop is the one that is named."""
        if context:
            self.remarks.append(context)
        self.stop = self.stop or stop

    @property
    def ms(self) -> float:
        """How many milliseconds the call has taken so far, without the time that people took to answer."""
        return round((time.perf_counter() - self.began - self.asked_seconds) * 1000, 3) if self.began else 0.0

    async def settle(self, facts: Facts) -> None:
        """The input is final and its facts are known."""
        self.facts, self.has_facts = facts, True

    async def ask(self, question: Callable[[], Awaitable[Decision | None]]) -> Decision | None:
        """Put a question to a person."""
        began = time.perf_counter()
        try:
            return await question()
        finally:
            self.asked_seconds += time.perf_counter() - began

    async def begin(self) -> None:
        """Permission is given and the act begins."""

    def end(self) -> None:
        """The act is over; what follows are hooks and words. Not called when the act fails."""
