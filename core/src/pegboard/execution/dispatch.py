"""One call, from what the model sent to what it gets back. Read it top to bottom: this is the order of everything."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pegboard.calls import Allow, Block, Call, Decision, Deny, Document, Image, Result, Text
from pegboard.context import Context
from pegboard.contract import Facts, Output, Tool
from pegboard.errors import CODES, ToolError
from pegboard.execution.bound import BoundHooks, settled
from pegboard.execution.outputs import fitting
from pegboard.execution.permitting import Heard, hold_to_approval, permit, refuse_invalid
from pegboard.execution.prints import catching
from pegboard.execution.threads import in_thread
from pegboard.extensions import After, Before
from pegboard.host.beneath import pin
from pegboard.host.media import checked
from pegboard.inputs import Input, validate

STOP = "pegboard.stop"
"""Under this name the metadata of a result holds a hook's reason why the model must not go on."""

log = logging.getLogger("pegboard")
within: ContextVar[tuple[Seat, Heard] | None] = ContextVar("within", default=None)
"""The call that is being executed, for those that its tool makes."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A tool that can run: itself, who owns it, and its execution with every `wrap_execute` around it."""

    tool: Tool[Any, Any]
    owner: str
    execute: Callable[[Any, Context], Awaitable[Any]]


class Desk(Protocol):
    """What dispatch needs of a board."""

    hooks: BoundHooks

    def find(self, name: str) -> Ready:
        """The tool behind a name, or a `ToolError`."""
        ...

    def equip(self, ctx: Context) -> Context:
        """The context with this board's hooks around its services."""
        ...

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """The content within the tool's limit; what is too long is saved and previewed."""
        ...


class Seat:
    """A call's place in a turn. Alone there is nothing to wait for; the scheduler has seats that wait."""

    async def settle(self, facts: Facts) -> None:
        """The input is final and its facts are known."""

    async def ask(self, question: Callable[[], Awaitable[Decision | None]]) -> Decision | None:
        """Put a question to a person."""
        return await question()

    async def begin(self) -> None:
        """Permission is given and the act begins."""

    def end(self) -> None:
        """The act is over; what follows are hooks and words. Not called when the act fails."""


async def dispatch(call: Call, ctx: Context, desk: Desk, seat: Seat | None = None) -> Result:
    """Handle one call. Never raises for what a model, a user or a tool did; only cancellation passes through."""
    seat, hooks = seat or Seat(), desk.hooks
    began, decision, owner = time.perf_counter(), None, "pegboard"
    tool: Tool[Any, Any] | None = None
    args: Input | None = None
    heard = Heard()
    hooks.emit("call_started", id=call.id, name=call.name)
    try:
        ctx = desk.equip(ctx)
        ready = desk.find(call.name)
        tool, owner = ready.tool, ready.owner
        args, notes = validate(tool.name, tool.input, call.input)
        refuse_invalid(tool, args, ctx, hooks)
        args, opinions = await look_before(call, tool, args, ctx, hooks, heard)
        facts, heard.judged = pin(await settled(tool.facts(args, ctx)), ctx)
        await seat.settle(facts)
        args, decision = await permit(call, tool, args, facts, ctx, hooks, opinions, seat, heard)
        if not isinstance(decision, Allow):
            result = _denied(call, tool, decision)
        else:
            await seat.begin()
            hold_to_approval(heard, tool, args, ctx)
            ctx = replace(ctx, judged=heard.judged or None) if heard.judged or ctx.judged else ctx
            acted = time.perf_counter()
            within.set((seat, heard))
            with catching() as printed:
                output = _as_output(await ready.execute(args, ctx))
            ms = (time.perf_counter() - acted) * 1000
            seat.end()
            value = await _after(call, tool, args, fitting(tool, output.value, owner), ms, ctx, hooks, heard)
            blocks = await desk.fit(tool, _serialize(tool, value, hooks), call)
            result = Result(
                call.id,
                tool.name,
                blocks,
                value=value,
                decision=decision,
                notes=(*notes, *printed),
                change=output.change,
                messages=tuple(output.messages),
                metadata=output.metadata,
            )
    except ToolError as error:
        result = _failed(call, error, decision)
    except (Exception, SystemExit) as error:  # a bug of a plugin: the model gets one sentence, the log gets the rest
        log.exception("%s failed in a call of %s", owner, call.name)
        reason = f"{call.name} failed because of a bug in {owner}: {type(error).__name__}."
        result = _failed(call, ToolError(reason, code="internal"), decision)
    if result.is_error and hooks.after_failure:
        seat.end()
        await _after_failure(call, tool, args, result, ctx, hooks, heard)
    if heard.remarks or heard.stop:
        result = _with_what_was(heard, result)
    if hooks.observe:
        _report(call, result, began, hooks)
    return result


def _with_what_was(heard: Heard, result: Result) -> Result:
    metadata = {**result.metadata, STOP: heard.stop} if heard.stop else result.metadata
    remarks = tuple(Text(remark) for remark in heard.remarks)
    return replace(result, content=result.content + remarks, metadata=metadata)


def _report(call: Call, result: Result, began: float, hooks: BoundHooks) -> None:
    ms = round((time.perf_counter() - began) * 1000, 3)
    word = result.decision.word if result.decision else ""
    said = result.text[:500]
    hooks.emit("call_finished", id=call.id, name=call.name, decision=word, is_error=result.is_error, ms=ms, said=said)


async def look_before(
    call: Call, tool: Tool[Any, Any], args: Input, ctx: Context, hooks: BoundHooks, heard: Heard
) -> tuple[Input, list[Decision]]:
    """Let hooks look first. A rewritten input is checked like any other and voids what was allowed before it."""
    opinions: list[Decision] = []
    for hook in hooks.before_call:
        try:
            said: Before | None = await settled(hook(tool, call, args, ctx))
        except Exception as error:
            log.exception("a before_call hook failed")
            opinions.append(Deny(f"A before_call hook failed: {type(error).__name__}.", layer="hooks"))
            continue
        if said is None:
            continue
        if said.input is not None:
            args, _ = validate(tool.name, tool.input, said.input)
            refuse_invalid(tool, args, ctx, hooks)
            opinions = [opinion for opinion in opinions if not isinstance(opinion, Allow)]
        if said.decision:
            opinions.append(said.decision)
        heard.take(said.context, said.stop)
    return args, opinions


def _as_output(returned: Any) -> Output[Any]:
    return returned if isinstance(returned, Output) else Output(returned)


async def _after(
    call: Call, tool: Tool[Any, Any], args: Input, value: Any, ms: float, ctx: Context, hooks: BoundHooks, heard: Heard
) -> Any:
    for hook in hooks.after_call:
        try:
            said: After | None = await settled(hook(tool, call, args, value, ms, ctx))
        except Exception as error:  # It may have been there to hide something, so nothing is shown.
            log.exception("an after_call hook failed")
            reason = f"{tool.name} ran, but its result is withheld: an after_call hook failed: {type(error).__name__}."
            raise ToolError(reason, code="internal") from error
        if said is not None:
            value = fitting(tool, said.value, "An after_call hook") if said.replaces else value
            heard.take(said.context, said.stop)
    return value


async def _after_failure(
    call: Call,
    tool: Tool[Any, Any] | None,
    args: Input | None,
    result: Result,
    ctx: Context,
    hooks: BoundHooks,
    heard: Heard,
) -> None:
    for hook in hooks.after_failure:
        try:
            said: After | None = await settled(hook(tool, call, args, result, ctx))
        except Exception:
            log.exception("an after_failure hook failed")
            continue
        if said is not None:
            heard.take(said.context, said.stop)


def _serialize(tool: Tool[Any, Any], value: Any, hooks: BoundHooks) -> tuple[Block, ...]:
    for hook in hooks.serialize_result:
        said = hook(tool, value)
        if said is not None:
            return tuple(checked(block) for block in said)
    content = tool.content(value)
    if isinstance(content, str):
        return (Text(content),)
    blocks = (content,) if isinstance(content, (Text, Image, Document)) else content
    return tuple(checked(block) for block in blocks)


def _denied(call: Call, tool: Tool[Any, Any], decision: Decision) -> Result:
    named = decision.reason.startswith(f"{tool.name} was denied")
    words = decision.reason if named else f"{tool.name} was denied. {decision.reason}".strip()
    return Result(
        call.id,
        tool.name,
        (Text(f"{words} {CODES['permission_denied']}"),),
        is_error=True,
        code="permission_denied",
        decision=decision,
    )


def _failed(call: Call, error: ToolError, decision: Decision | None) -> Result:
    remedy = CODES[error.code] if error.remedy is None else error.remedy
    words = f"{error.message} {remedy}".strip() if error.code == "internal" or error.remedy else error.message
    return Result(
        call.id,
        call.name,
        (Text(words),),
        is_error=True,
        code=error.code,
        value=error.value,
        decision=decision,
        change=error.change,
    )


def runner(tool: Tool[Any, Any], wrappers: tuple[Callable[..., Any], ...]) -> Callable[[Any, Context], Awaitable[Any]]:
    """How a tool runs: awaited, or in a thread; inside every wrapper that wants it, the first outermost."""
    execute: Any = tool.call if tool.is_async else in_thread(tool)
    for wrap in reversed(wrappers):
        execute = wrap(tool, execute) or execute
    return execute  # type: ignore[no-any-return]
