"""The plugin's hooks around calls: one function per event. With no handlers, each returns at once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pegboard import (
    After,
    Allow,
    Answer,
    Before,
    Call,
    Context,
    Deny,
    Notice,
    Question,
    Result,
    Settings,
    Tool,
    ToolInfo,
    hookimpl,
    jsonable,
)
from pegboard_hooks import verdicts
from pegboard_hooks.diagnosis import faulty_conditions, missing_programs
from pegboard_hooks.events import HookedCall, fire
from pegboard_hooks.matchers import tool_names
from pegboard_hooks.plan import Plan

if TYPE_CHECKING:
    from pegboard import Input

AnyTool = Tool[Any, Any]
SAFETY = frozenset({"protected-path", "critical-path", "unresolvable", "forced"})
"""Layers whose questions a hook must not approve."""
AROUND_A_CALL = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
"""Events whose handlers run before or after a call."""
PERMISSION = "permission_prompt"
"""The kind of a notification that a person is about to be asked."""


@hookimpl
def before_call(tool: AnyTool, call: Call, args: Input, ctx: Context) -> Awaitable[Before | None] | Before | None:
    plan = Plan.of(ctx)
    if not any(map(plan.has, AROUND_A_CALL)):
        return None
    names = names_of(tool)
    if plan.matching("PreToolUse", names):
        return _before(names, tool, call, args, ctx)
    # What runs afterwards, such as a formatter, may change any file: no other call may be beside it.
    return Before(alone=True) if any(plan.matching(event, names) for event in AROUND_A_CALL) else None


async def _before(names: tuple[str, ...], tool: AnyTool, call: Call, args: Input, ctx: Context) -> Before | None:
    about = {**_about(tool, args, ctx), "tool_use_id": call.id}
    said = verdicts.before(await fire("PreToolUse", names, about, ctx, HookedCall(tool, args)))
    return replace(said, alone=True) if said else Before(alone=True)


@hookimpl(priority=-10)  # Before the person at the terminal is asked: the hook may answer for them.
def ask_user(question: Question, call: Call, ctx: Context) -> Awaitable[Answer | None] | None:
    names = names_of(question.tool) if question.tool else tool_names(call.name)
    plan = Plan.of(ctx)
    wanted = plan.matching("PermissionRequest", names) or plan.has("Notification")
    return _request(names, question, ctx) if wanted else None


async def _request(names: tuple[str, ...], question: Question, ctx: Context) -> Answer | None:
    answer = await _answered(names, question, ctx)
    if answer is None:
        message = f"Pegboard needs your permission to use {names[0]}."
        about = {"message": message, "title": "Permission needed", "notification_type": PERMISSION}
        await fire("Notification", (PERMISSION,), about, ctx)
    return answer


async def _answered(names: tuple[str, ...], question: Question, ctx: Context) -> Answer | None:
    """What PermissionRequest handlers say on behalf of the person."""
    about = {
        "tool_name": names[0],
        "tool_input": dict(question.input),
        "permission_suggestions": _suggestions(question),
    }
    subject = HookedCall(question.tool, question.args) if question.tool and question.args else None
    answer = verdicts.request(await fire("PermissionRequest", names, about, ctx, subject))
    if answer and isinstance(answer.decision, Allow) and question.decision.layer in SAFETY:
        reason = f"{answer.decision.reason} This has no effect here: a person must decide."
        ctx.report(reason, hook=answer.decision.rule)
        return None
    return answer


def _suggestions(question: Question) -> list[dict[str, Any]]:
    """Rules that would allow exactly this call, in the format of the protocol."""
    rules = []
    for text in question.rules:
        name, _, inside = text.partition("(")
        rules.append({"toolName": name, **({"ruleContent": inside.removesuffix(")")} if inside else {})})
    if not rules:
        return []
    return [{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"}]


@hookimpl
def after_call(
    tool: AnyTool, call: Call, args: Input, value: Any, ms: float, ctx: Context
) -> Awaitable[After | None] | None:
    plan = Plan.of(ctx)
    if not plan.has("PostToolUse"):
        return None
    names = names_of(tool)
    if not plan.matching("PostToolUse", names):
        return None
    return _after(names, tool, call, args, {"tool_response": jsonable(value), "duration_ms": round(ms)}, ctx)


async def _after(
    names: tuple[str, ...], tool: AnyTool, call: Call, args: Input, more: Mapping[str, Any], ctx: Context
) -> After | None:
    about = {**_about(tool, args, ctx), "tool_use_id": call.id, **more}
    return verdicts.after(await fire("PostToolUse", names, about, ctx, HookedCall(tool, args)))


@hookimpl
def after_failure(
    tool: AnyTool | None, call: Call, args: Input | None, result: Result, ctx: Context
) -> Awaitable[After | None] | None:
    names = names_of(tool) if tool else tool_names(call.name)
    denied = isinstance(result.decision, Deny)
    event = "PermissionDenied" if denied else "PostToolUseFailure"
    if not Plan.of(ctx).matching(event, names):
        return None
    seen = _about(tool, args, ctx) if tool and args else {"tool_name": names[0], "tool_input": _as_sent(call)}
    why = result.decision.reason if denied and result.decision else result.text
    about = {**seen, "tool_use_id": call.id, **({"reason": why} if denied else {"error": why, "is_interrupt": False})}
    return _failed(event, names, about, ctx, HookedCall(tool, args) if tool and args else None)


async def _failed(
    event: str, names: tuple[str, ...], about: Mapping[str, Any], ctx: Context, subject: HookedCall | None
) -> After | None:
    return verdicts.after(await fire(event, names, about, ctx, subject))


@hookimpl
def check_tools(settings: Settings, tools: Mapping[str, ToolInfo]) -> list[Notice]:
    return list(faulty_conditions(settings, tools))


@hookimpl
def diagnose(settings: Settings) -> list[str]:
    plan = Plan(settings)
    return [*plan.problems, *missing_programs(settings)]


def names_of(tool: AnyTool) -> tuple[str, ...]:
    """The names that a matcher may use for the tool."""
    return tool_names(tool.name, tuple(tool.aliases))


def _about(tool: AnyTool, args: Input, ctx: Context) -> dict[str, Any]:
    return {"tool_name": tool.name, "tool_input": tool.observable_input(args, ctx)}


def _as_sent(call: Call) -> Any:
    """The input of a call whose input is not valid."""
    if isinstance(call.input, Mapping):
        return dict(call.input)
    try:
        return json.loads(call.input)
    except ValueError:
        return {}


def runs_user_commands(tool: AnyTool, settings: Settings) -> tuple[str, ...]:
    """The events at which a user's command would run for this tool; `pegboard why` lists them and runs none."""
    plan, names = Plan.of_settings(settings), names_of(tool)
    events = {"before_call": "PreToolUse", "ask_user": "PermissionRequest"}
    return tuple(hook for hook, event in events.items() if plan.matching(event, names))
