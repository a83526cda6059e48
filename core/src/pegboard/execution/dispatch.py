"""One call, from what the model sent to what it gets back. Read it top to bottom: this is the order of everything."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import BrokenExecutor
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from anyio import BrokenWorkerProcess

from pegboard.calls import Allow, Result, Text
from pegboard.context import Context
from pegboard.contract import Output, Tool
from pegboard.errors import CODES, ToolError
from pegboard.execution import stdout_capture
from pegboard.execution.call_run import CallRun, ToolHost
from pegboard.execution.content import fitting, serialize
from pegboard.execution.deferred_calls import with_schema
from pegboard.execution.hooks import BoundHook, BoundHooks, maybe_await
from pegboard.execution.permission import failed_guard, hold_to_approval, permit, refuse_invalid, said_by
from pegboard.execution.threads import in_thread
from pegboard.extensions import After, Before
from pegboard.inputs import validate
from pegboard.permission.approved_paths import resolve_paths

STOP = "pegboard.stop"
"""Under this name the metadata of a result holds a hook's reason why the model must not go on."""
TRY_LESS = "Try something smaller."
SAID = 500
"""How many characters of a result observers get."""

log = logging.getLogger("pegboard")
within: ContextVar[CallRun | None] = ContextVar("within", default=None)
"""The call that is being executed, for those that its tool makes."""


async def dispatch(run: CallRun, host: ToolHost) -> Result:
    """Handle one call. Never raises for what a model, a user or a tool did; only cancellation passes through."""
    call, hooks, owner = run.call, host.hooks, "pegboard"
    run.restart()
    if hooks.observe:
        hooks.emit("call_started", id=call.id, name=call.name, session=run.ctx.session_id)
    try:
        run.ctx = host.equip(run.ctx)
        bound = run.bound or host.find(call.name)
        run.bound, run.tool, owner = bound, bound.tool, bound.owner
        tool = bound.tool
        run.args, notes = validate(tool.name, tool.input, call.input)
        refuse_invalid(run, run.args, hooks)
        if hooks.before_call:
            await look_before(run, hooks)
        facts, run.approved_paths = resolve_paths(await maybe_await(tool.facts(run.args, run.ctx)), run.ctx)
        await run.settle(facts)
        run.decision = await permit(run, hooks)
        if not isinstance(run.decision, Allow):
            result = _denied(run)
        else:
            await run.begin()
            hold_to_approval(run)
            run.ctx = run.ctx.permitted(run.decision, run.approved_paths or None)
            acted, asked = time.perf_counter(), run.asked_seconds
            within.set(run)
            if stdout_capture.is_on:
                returned, printed = await stdout_capture.capture(bound.execute, run.args, run.ctx)
                notes += printed
            else:
                returned = await bound.execute(run.args, run.ctx)
            ms = (time.perf_counter() - acted - (run.asked_seconds - asked)) * 1000
            run.end()
            output = returned if isinstance(returned, Output) else Output(returned)
            value = fitting(tool, output.value, owner)
            if hooks.after_call:
                value = await _after(run, value, ms, hooks)
            result = Result(
                call.id,
                tool.name,
                await host.fit(tool, serialize(tool, value, hooks), call),
                value=value,
                decision=run.decision,
                notes=notes,
                change=output.change,
                messages=tuple(output.messages),
                metadata=output.metadata,
            )
    except ToolError as error:
        result = _failed(run, with_schema(run, error))
    except (BrokenExecutor, BrokenWorkerProcess) as error:  # somebody ended the process that ran the tool
        log.warning("the worker that ran %s has died: %s", call.name, error)
        result = _failed(run, ToolError(f"The worker that ran {call.name} has died.", code="lost"))
    except MemoryError:
        result = _failed(run, ToolError(f"{call.name} ran out of memory.", code="failed", remedy=TRY_LESS))
    except (Exception, SystemExit) as error:  # a bug of a plugin: the model gets one sentence, the log gets the rest
        log.exception("%s failed in a call of %s", owner, call.name)
        reason = f"{call.name} failed because of a bug in {owner}: {type(error).__name__}."
        result = _failed(run, ToolError(reason, code="internal"))
    if result.is_error and hooks.after_failure:
        run.end()
        await _after_failure(run, result, hooks)
    if run.remarks or run.stop:
        result = _with_remarks(run, result)
    if hooks.observe:
        report_finished(run, result, hooks)
    return result


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


async def look_before(run: CallRun, hooks: BoundHooks) -> None:
    """Let hooks look first. A rewritten input is checked like any other and voids what was allowed before it."""
    for hook in hooks.bound("before_call"):
        said: Before | None = await hook.ask(
            run.tool, run.call, run.args, run.ctx, on_error=lambda error, at: Before(decision=failed_guard(error, at))
        )
        if said is None:
            continue
        if said.input is not None:
            run.args, _ = validate(run.tool.name, run.tool.input, said.input)
            refuse_invalid(run, run.args, hooks)
            run.opinions = [opinion for opinion in run.opinions if not isinstance(opinion, Allow)]
        run.opinions += said_by(hook, said.decision)
        run.note(said.context, said.stop)


async def _after(run: CallRun, value: Any, ms: float, hooks: BoundHooks) -> Any:
    tool = run.tool

    def withheld(
        error: Exception, hook: BoundHook
    ) -> After:  # The hook may have been there to hide something, so nothing is shown.
        reason = f"{tool.name} ran, but its result is withheld: an after_call hook failed: {type(error).__name__}."
        raise ToolError(reason, code="internal") from error

    for hook in hooks.bound("after_call"):
        said: After | None = await hook.ask(tool, run.call, run.args, value, ms, run.ctx, on_error=withheld)
        if said is not None:
            value = fitting(tool, said.value, "An after_call hook") if said.replaces else value
            run.note(said.context, said.stop)
    return value


async def _after_failure(run: CallRun, result: Result, hooks: BoundHooks) -> None:
    tool = run.bound.tool if run.bound else None
    for hook in hooks.bound("after_failure"):
        said: After | None = await hook.ask(
            tool, run.call, run.args, result, run.ctx, on_error=lambda error, hook: None
        )
        if said is not None:
            run.note(said.context, said.stop)


def _denied(run: CallRun) -> Result:
    name, decision = run.tool.name, run.decision
    reason = decision.reason if decision else ""
    words = reason if reason.startswith(f"{name} was denied") else f"{name} was denied. {reason}".strip()
    content = (Text(f"{words} {CODES['permission_denied']}"),)
    return Result(run.call.id, name, content, is_error=True, code="permission_denied", decision=decision)


def _failed(run: CallRun, error: ToolError) -> Result:
    remedy = CODES[error.code] if error.remedy is None else error.remedy
    shows_remedy = error.code in ("internal", "lost") or error.remedy
    return Result(
        run.call.id,
        run.call.name,
        (Text(f"{error.message} {remedy}".strip() if shows_remedy else error.message),),
        is_error=True,
        code=error.code,
        value=error.value,
        decision=run.decision,
        change=error.change,
    )


def runner(tool: Tool[Any, Any], wrappers: tuple[Callable[..., Any], ...]) -> Callable[[Any, Context], Awaitable[Any]]:
    """How a tool runs: awaited, or in a thread; inside every wrapper that wants it, the first outermost."""
    execute: Any = tool.call if tool.is_async else in_thread(tool)
    for wrap in reversed(wrappers):
        execute = wrap(tool, execute) or execute
    return execute  # type: ignore[no-any-return]
