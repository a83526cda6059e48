"""One call, from what the model sent to what it gets back. Read it top to bottom: this is the order of everything."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pegboard.calls import JSON, Allow, Ask, Block, Call, Decision, Deny, Document, Image, Result, Text, strictest
from pegboard.context import Context
from pegboard.contract import Facts, Output, Tool
from pegboard.errors import CODES, ToolError
from pegboard.execution.bound import BoundHooks, settled
from pegboard.execution.outputs import fitting
from pegboard.execution.prints import catching
from pegboard.execution.threads import in_thread
from pegboard.extensions import Before, Question
from pegboard.host.media import checked
from pegboard.inputs import Input, validate
from pegboard.permission.modes import may_classify
from pegboard.permission.pipeline import judge

log = logging.getLogger("pegboard")


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
    hooks.emit("call_started", id=call.id, name=call.name)
    try:
        ready = desk.find(call.name)
        tool, owner = ready.tool, ready.owner
        args, notes = validate(tool.name, tool.input, call.input)
        _refuse_invalid(tool, args, ctx, hooks)
        args, opinions, remarks = await _before(call, tool, args, ctx, hooks)
        facts: Facts = await settled(tool.facts(args, ctx))
        await seat.settle(facts)
        decision = await _permit(call, tool, args, facts, ctx, hooks, opinions, seat)
        if not isinstance(decision, Allow):
            result = _denied(call, tool, decision)
        else:
            await seat.begin()
            with catching() as printed:
                output = _as_output(await ready.execute(args, desk.equip(ctx)))
            seat.end()
            value, more = await _after(call, tool, fitting(tool, output.value, owner), ctx, hooks)
            blocks = await desk.fit(tool, _serialize(tool, value, hooks), call)
            result = Result(
                call.id,
                tool.name,
                blocks + tuple(Text(remark) for remark in (*remarks, *more)),
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
    if hooks.observe:
        _report(call, result, began, hooks)
    return result


def _report(call: Call, result: Result, began: float, hooks: BoundHooks) -> None:
    ms = round((time.perf_counter() - began) * 1000, 3)
    word = result.decision.word if result.decision else ""
    said = result.text[:500]
    hooks.emit("call_finished", id=call.id, name=call.name, decision=word, is_error=result.is_error, ms=ms, said=said)


def _refuse_invalid(tool: Tool[Any, Any], args: Input, ctx: Context, hooks: BoundHooks) -> None:
    wrong = tool.validate_input(args)
    for check in hooks.validate_input:
        if wrong:
            break
        wrong = check(tool, args, ctx)
    if wrong:
        raise ToolError(f"{tool.name}: {wrong}")


async def _before(
    call: Call, tool: Tool[Any, Any], args: Input, ctx: Context, hooks: BoundHooks
) -> tuple[Input, list[Decision], list[str]]:
    """Let hooks look first. A rewritten input is checked like any other and voids what was allowed before it."""
    opinions: list[Decision] = []
    remarks: list[str] = []
    for hook in hooks.before_call:
        try:
            said: Before | None = await settled(hook(call, args, ctx))
        except Exception as error:
            log.exception("a before_call hook failed")
            opinions.append(Deny(f"A before_call hook failed: {type(error).__name__}.", layer="hooks"))
            continue
        if said is None:
            continue
        if said.input is not None:
            args, _ = validate(tool.name, tool.input, said.input)
            _refuse_invalid(tool, args, ctx, hooks)
            opinions = [opinion for opinion in opinions if not isinstance(opinion, Allow)]
        if said.decision:
            opinions.append(said.decision)
        if said.context:
            remarks.append(said.context)
    return args, opinions, remarks


async def _permit(
    call: Call,
    tool: Tool[Any, Any],
    args: Input,
    facts: Facts,
    ctx: Context,
    hooks: BoundHooks,
    opinions: list[Decision],
    seat: Seat,
) -> Decision:
    """Ask everyone, take the strictest answer, and put what is left open to a person."""
    opinions = list(opinions)
    own = await settled(tool.check_permission(args, ctx))
    if own is not None:
        opinions.append(own)
    for hook in hooks.check_permission:
        try:
            said = await settled(hook(tool, args, ctx))
        except Exception as error:
            log.exception("a check_permission hook failed")
            said = Deny(f"A check_permission hook failed: {type(error).__name__}.", layer="hooks")
        if said is not None:
            opinions.append(said)
    decision = judge(tool, facts, ctx, opinions, args)
    if may_classify(decision, ctx.mode, ctx.settings):
        decision = await _classify(tool, args, ctx, hooks) or decision
    hooks.emit(
        "decided", id=call.id, name=call.name, decision=decision.word, layer=decision.layer, reason=decision.reason
    )
    if isinstance(decision, Ask):
        seen: JSON = tool.observable_input(args, ctx)
        question = Question(call, decision, tool.describe(args), seen, tool.preview(args, ctx))
        answer = await seat.ask(lambda: _ask(question, call, hooks))
        return answer or Deny(f"{decision.reason} Nobody was there to approve it.", layer="ask", rule=decision.rule)
    return decision


async def _classify(tool: Tool[Any, Any], args: Input, ctx: Context, hooks: BoundHooks) -> Decision | None:
    """The last and dearest opinion. A classifier that fails has none, and the call asks."""
    opinions: list[Decision] = []
    for hook in hooks.classify_call:
        try:
            said: Decision | None = await settled(hook(tool, args, ctx))
        except Exception:
            log.exception("a classify_call hook failed")
            return None
        if said is not None:
            opinions.append(replace(said, layer=said.layer or "classifier"))
    return strictest(opinions)


async def _ask(question: Question, call: Call, hooks: BoundHooks) -> Decision | None:
    for hook in hooks.ask_user:
        answer: Decision | None = await settled(hook(question, call))
        if answer is not None:
            return answer
    return None


def _as_output(returned: Any) -> Output[Any]:
    return returned if isinstance(returned, Output) else Output(returned)


async def _after(
    call: Call, tool: Tool[Any, Any], value: Any, ctx: Context, hooks: BoundHooks
) -> tuple[Any, list[str]]:
    remarks = []
    for hook in hooks.after_call:
        said = await settled(hook(call, value, ctx))
        if said is not None:
            value = fitting(tool, said.value, "An after_call hook") if said.replaces else value
            if said.context:
                remarks.append(said.context)
    return value, remarks


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
    return Result(call.id, call.name, (Text(words),), is_error=True, code=error.code, decision=decision)


def runner(tool: Tool[Any, Any], wrappers: tuple[Callable[..., Any], ...]) -> Callable[[Any, Context], Awaitable[Any]]:
    """How a tool runs: awaited, or in a thread; inside every wrapper that wants it, the first outermost."""
    execute: Any = tool.call if tool.is_async else in_thread(tool)
    for wrap in reversed(wrappers):
        execute = wrap(tool, execute) or execute
    return execute  # type: ignore[no-any-return]
