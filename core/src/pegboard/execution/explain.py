"""What would be decided about a call, and why, without running it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

from pegboard.calls import Ask, Call, Decision
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.execution.call_run import BoundTool, CallRun
from pegboard.execution.dispatch import look_before
from pegboard.execution.hooks import BoundHooks, maybe_await
from pegboard.execution.permission import opinions_of, refuse_invalid
from pegboard.hookspecs import CORE_HOOKS
from pegboard.inputs import validate
from pegboard.permission.approved_paths import resolve_paths
from pegboard.permission.decide import Step, trace
from pegboard.permission.digest import fingerprint
from pegboard.permission.modes import may_classify
from pegboard.settings import Settings

MARK = "runs_user_commands"
"""What a plugin is asked before a call is explained: True, names of its hooks, or a function of tool and settings that
returns either. These hooks start what the user configured, so they are not run."""

DECIDING = ("before_call", "check_permission")
ANSWERING = "ask_user"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with everything that led to it."""

    tool: str
    input: dict[str, Any]
    digest: str
    facts: Facts
    decision: Decision
    trace: tuple[Step, ...]
    not_run: tuple[str, ...] = ()
    """Who could still change the answer, and was not asked because asking has effects; a sentence each."""


class Finds(Protocol):
    """What is needed of a board."""

    hooks: BoundHooks

    def find(self, name: str) -> BoundTool:
        """The tool behind a name, or a `ToolError`."""
        ...


async def explain(call: Call, ctx: Context, board: Finds) -> Explanation:
    """Judge a call as dispatch would, up to the point where it would ask or run.

    The tool's facts and its opinion are asked for, and so are the hooks of Python plugins. Hooks that run commands of
    the user, and a classifier, are not: they are named in `not_run`. An unknown tool or input raises `ToolError`.
    """
    bound = board.find(call.name)
    run, tool = CallRun(call, ctx, bound), bound.tool
    run.restart()
    run.tool = tool
    hooks, left_out = board.hooks.without(lambda plugin, hook: hook in commanding(plugin, tool, ctx.settings))
    run.args, _ = validate(tool.name, tool.input, call.input)
    refuse_invalid(run, run.args, hooks)
    await look_before(run, hooks)
    facts: Facts = await maybe_await(tool.facts(run.args, run.ctx))
    run.facts, _ = resolve_paths(facts, run.ctx)
    run.opinions += await opinions_of(run, hooks)
    decision, steps = trace(tool, run.facts, run.ctx, run.opinions, hooks.modes)
    not_run = [
        f"{plugin} runs commands of the user in {hook}; they were not run and may deny, ask or change the input."
        for plugin, hook in left_out
        if hook in DECIDING or (hook == ANSWERING and isinstance(decision, Ask))
    ]
    if may_classify(decision, hooks.modes.effective(ctx.mode, ctx.settings)) and board.hooks.classify_call:
        not_run.append("The classifier was not asked; in the mode auto it decides before a person does.")
    seen = tool.observable_input(run.args, ctx)
    return Explanation(tool.name, seen, fingerprint(seen), facts, decision, tuple(steps), tuple(not_run))


def commanding(plugin: object, tool: Tool[Any, Any], settings: Settings) -> Collection[str]:
    """The hooks of a plugin that start what the user configured, by its own word."""
    mark: Any = getattr(plugin, MARK, False)
    said: Any = mark(tool, settings) if callable(mark) else mark
    return said if not isinstance(said, bool) else CORE_HOOKS if said else ()
