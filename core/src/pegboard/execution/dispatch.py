"""One call, from what the model sent to what it gets back. Read it top to bottom: this is the order of everything."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from anyio import BrokenWorkerProcess

from pegboard.calls import JSON, Allow, Block, Call, Decision, Result, Text, unfrozen
from pegboard.content import text_size
from pegboard.context import Context
from pegboard.contract import Facts, Output, Tool, resolve_paths
from pegboard.errors import ToolError
from pegboard.execution.failure_results import denied, failed, with_schema
from pegboard.execution.hooks import (
    BoundHooks,
    fitting,
    look_after,
    look_at_failure,
    look_before,
    maybe_await,
    refuse_invalid,
    serialize,
)
from pegboard.execution.permission import hold_to_approval, opinions_of, permit

if TYPE_CHECKING:
    from pegboard.inputs import Input
    from pegboard_files import Files

STOP = "pegboard.stop"
"""Under this name the metadata of a result holds a hook's reason why the model must not go on."""
TRY_LESS = "Try something smaller."
SAID = 500
"""How many characters of a result observers get."""

T = TypeVar("T")
log = logging.getLogger("pegboard")
within: ContextVar[CallRun | None] = ContextVar("within", default=None)
"""The call that is being executed, for those that its tool makes."""


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
        """Content that is too long for the model: saved, and shown as a preview."""
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
    opinions: Sequence[Decision]
    """What `before_call` hooks think of the call."""
    remarks: Sequence[str]
    """What hooks want the model to read after the result."""
    stop: str
    """Why the model must not go on after this turn, by the first hook that said so."""
    alone: bool = False
    """Whether a hook wants no other call beside it."""
    approved: str
    """The hash of the input that a person approved."""
    approved_paths: Mapping[str, bool] | None
    """The real paths that the decision is about, and whether each may be changed."""
    nested_files: Files | None
    """What the calls that the tool makes know of files: a copy of what the tool knew, gone with this call."""
    hooks: BoundHooks
    """Those of who makes the call: the hooks of a sub-agent are not those of its board."""
    began: float = 0.0
    asked_seconds: float = 0.0
    """How long people thought about questions of this call: that is not the time of the call."""

    def __init__(self, call: Call, base: Context, bound: BoundTool | None = None) -> None:
        self.call, self.base, self.bound = call, base, bound

    def restart(self) -> None:
        """Forget what an earlier dispatch found out: the context has changed, and everything is asked again."""
        self.ctx = self.context()
        self.args = self.decision = self.approved_paths = self.nested_files = None
        self.opinions = self.remarks = ()
        self.stop = self.approved = ""
        self.alone = False
        self.began = self.began or time.perf_counter()

    def context(self) -> Context:
        """The context for this call."""
        return self.base.for_call(self.call.id, self.base.on_progress)

    def validated(self, raw: str | bytes | JSON) -> tuple[Input, tuple[str, ...]]:
        """The input as the tool wants it, and what had to be read with good will to get there."""
        return _validate()(self.tool.name, self.tool.input, raw)

    def note(self, context: str, stop: str) -> None:
        """Keep what one hook said; the first reason to stop is the one that is named."""
        if context:
            self.remarks = (*self.remarks, context)
        self.stop = self.stop or stop

    @property
    def ms(self) -> float:
        """How many milliseconds the call has taken so far, without the time that people took to answer."""
        return round((time.perf_counter() - self.began - self.asked_seconds) * 1000, 3) if self.began else 0.0

    async def settle(self, facts: Facts) -> None:
        """The input is final and its facts are known."""
        self.facts, self.has_facts = facts, True

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
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


async def dispatch(run: CallRun, host: ToolHost) -> Result:
    """Handle one call. Never raises for what a model, a user or a tool did; only cancellation passes through."""
    call, hooks, owner = run.call, host.hooks, "pegboard"
    run.hooks = hooks
    run.restart()
    if hooks.observe:
        hooks.emit("call_started", id=call.id, name=call.name, session=run.ctx.session_id)
    try:
        run.ctx = host.equip(run.ctx)
        # Found before its input is read: who calls an absent tool is told why it is absent, not what is wrong in it.
        bound = run.bound or host.find(call.name)
        run.bound, run.tool, owner = bound, bound.tool, bound.owner
        tool = bound.tool
        run.args, notes = run.validated(call.input)
        refuse_invalid(run, run.args, hooks)
        if hooks.before_call:
            await look_before(run, hooks)
        facts = tool.facts(run.args, run.ctx)
        facts, run.approved_paths = resolve_paths(facts if isinstance(facts, Facts) else await facts, run.ctx)
        await run.settle(facts)
        run.decision = await permit(run, hooks)
        if not isinstance(run.decision, Allow):
            result = denied(run)
        else:
            await run.begin()
            hold_to_approval(run)  # After `begin`, which may wait: nothing comes between this look and the act.
            run.ctx.permit(run.decision, run.approved_paths or None)
            acted = time.perf_counter() - run.asked_seconds
            within.set(run)  # Not reset: the next call of this worker sets its own, and nested calls put it back.
            returned = await bound.execute(run.args, run.ctx)
            ms = (time.perf_counter() - run.asked_seconds - acted) * 1000
            run.end()
            output = returned if isinstance(returned, Output) else None
            value = fitting(tool, output.value if output else returned, owner)
            if hooks.after_call:
                value = await look_after(run, value, ms, hooks)
            content = serialize(tool, value, hooks)
            if tool.max_result_chars is not None and text_size(content) > tool.max_result_chars:
                content = await host.fit(tool, content, call)
            result = _succeeded(run, notes, content, value, output)
    except ToolError as error:
        result = failed(run, with_schema(run, error))
    except (BrokenExecutor, BrokenWorkerProcess) as error:  # The process that ran the tool was ended.
        log.warning("the worker that ran %s has died: %s", call.name, error)
        result = failed(run, ToolError(f"The worker that ran {call.name} has died.", code="lost"))
    except MemoryError:
        result = failed(run, ToolError(f"{call.name} ran out of memory.", code="failed", remedy=TRY_LESS))
    except (Exception, SystemExit) as error:  # a bug of a plugin: the model gets one sentence, the log gets the rest
        log.exception("%s failed in a call to %s", owner, call.name)
        reason = f"{call.name} failed because of a bug in {owner}: {type(error).__name__}."
        result = failed(run, ToolError(reason, code="internal"))
    if result.is_error and hooks.after_failure:
        run.end()  # The act may have failed before it ended; a hook that takes its time must not hold its slot.
        await look_at_failure(run, result, hooks)
    if run.remarks or run.stop:
        result = _with_remarks(run, result)
    if hooks.observe:
        report_finished(run, result, hooks)
    return result


@cache
def _validate() -> Callable[[str, type[Input], str | bytes | JSON], tuple[Input, tuple[str, ...]]]:
    from pegboard.inputs import validate  # Not at the top: a session starts without pydantic, which takes 60 ms.

    return validate


async def consider(run: CallRun, hooks: BoundHooks) -> tuple[Facts, list[Decision]]:
    """What dispatch finds out about a call before it decides: its facts as the tool tells them, and all opinions.

    For whoever explains a decision. The call is neither decided nor run; `run.facts` has the paths resolved.
    """
    if run.bound is None:
        raise ValueError("The call has no tool yet.")
    run.hooks = hooks
    run.restart()
    run.tool = tool = run.bound.tool
    run.args, _ = run.validated(run.call.input)
    refuse_invalid(run, run.args, hooks)
    await look_before(run, hooks)
    facts = await maybe_await(tool.facts(run.args, run.ctx))
    run.facts, _ = resolve_paths(facts, run.ctx)
    return facts, [*run.opinions, *await opinions_of(run, hooks)]


_UnfrozenResult = unfrozen(Result)


def _succeeded(
    run: CallRun, notes: tuple[str, ...], content: tuple[Block, ...], value: Any, output: Output[Any] | None
) -> Result:
    made = _UnfrozenResult()
    made.call_id, made.name, made.content, made.value = run.call.id, run.tool.name, content, value
    made.is_error, made.code, made.decision = False, "", run.decision
    made.notes, made.messages, made.change, made.metadata = notes, (), None, {}
    if output:
        made.notes, made.messages = (*notes, *output.notes), tuple(output.messages)
        made.change, made.metadata = output.change, output.metadata
    made.__class__ = Result
    return made  # type: ignore[no-any-return]


def _with_remarks(run: CallRun, result: Result) -> Result:
    metadata = {**result.metadata, STOP: run.stop} if run.stop else result.metadata
    remarks = tuple(Text(remark) for remark in run.remarks)
    return replace(result, content=result.content + remarks, metadata=metadata)


def report_finished(run: CallRun, result: Result, hooks: BoundHooks) -> None:
    """Tell observers how a call ended."""
    hooks.emit(
        "call_finished",
        id=run.call.id,
        name=run.call.name,
        session=run.base.session_id,
        decision=result.decision.word if result.decision else "",
        is_error=result.is_error,
        code=result.code,
        ms=run.ms,
        said=result.text[:SAID],
    )
