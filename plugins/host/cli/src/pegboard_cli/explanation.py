"""What would be decided about a call, and why, without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pegboard import Ask, Call, Context, Decision, Deny, Facts, Mode, Settings, Tool
from pegboard.hosting import BoundHooks, CallRun, ToolHost, consider, fingerprint
from pegboard.permission import READS, SAFETY, Modes, by_facts, by_paths, decide, may_classify, with_paths

MARK = "runs_user_commands"
"""What a plugin is asked before a call is explained: True, names of its hooks, or a function of tool and settings that
returns either. These hooks start what the user configured, so they are not run."""

DECIDING = ("before_call", "check_permission")
ANSWERING = "ask_user"


@dataclass(frozen=True, slots=True)
class Step:
    """What one step said about a call, for `pegboard why`. No decision: no opinion."""

    layer: str
    decision: Decision | None = None


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


class HooksWithout(BoundHooks):
    """The hooks of a board without some hooks of some plugins. `left_out` are these, as pairs of plugin and hook."""

    def __init__(self, hooks: BoundHooks, leave_out: Callable[[object, str], bool]) -> None:
        self.left_out: list[tuple[str, str]] = []
        self._bound, self.modes = {}, hooks.modes
        for name in hooks.names():
            self.left_out += [(bound.plugin_name, name) for bound in hooks.bound(name) if leave_out(bound.plugin, name)]
            self._bound[name] = [bound for bound in hooks.bound(name) if not leave_out(bound.plugin, name)]
            setattr(self, name, tuple(bound.function for bound in self._bound[name]))
        self._observers = self.observe


async def explain(call: Call, ctx: Context, board: ToolHost) -> Explanation:
    """Judge a call as dispatch would, up to the point where it would ask or run.

    The tool's facts and its opinion are asked for, and so are the hooks of Python plugins. Hooks that run commands of
    the user, and a classifier, are not: they are named in `not_run`. An unknown tool or input raises `ToolError`.
    """
    bound = board.find(call.name)
    run, tool = CallRun(call, ctx, bound), bound.tool
    hooks = HooksWithout(board.hooks, lambda plugin, hook: runs_commands(plugin, hook, tool, ctx.settings))
    facts, opinions = await consider(run, hooks)
    decision, steps = trace(tool, run.facts, run.ctx, opinions, hooks.modes)
    not_run = [
        f"{plugin} runs commands of the user in {hook}; they were not run and may deny, ask or change the input."
        for plugin, hook in hooks.left_out
        if hook in DECIDING or (hook == ANSWERING and isinstance(decision, Ask))
    ]
    if may_classify(decision, hooks.modes.effective(ctx.mode, ctx.settings)) and board.hooks.classify_call:
        not_run.append("The classifier was not asked; in the mode auto it decides before a person does.")
    seen = tool.observable_input(run.args, ctx)
    return Explanation(tool.name, seen, fingerprint(seen), facts, decision, tuple(steps), tuple(not_run))


def runs_commands(plugin: object, hook: str, tool: Tool[Any, Any], settings: Settings) -> bool:
    """Whether a hook of a plugin starts what the user configured, by the plugin's own word."""
    mark: Any = getattr(plugin, MARK, False)
    said: Any = mark(tool, settings) if callable(mark) else mark
    return said if isinstance(said, bool) else hook in said


def trace(
    tool: Tool[Any, Any], facts: Facts, ctx: Context, opinions: Sequence[Decision], modes: Modes
) -> tuple[Decision, list[Step]]:
    """The decision of `decide`, and what each step said on the way, in their order; none is left out."""
    facts = with_paths(facts, ctx)
    mode = modes.effective(ctx.mode, ctx.settings)
    by_step: dict[str, list[Decision]] = {}
    for opinion in opinions:
        by_step.setdefault(_step_of(opinion), []).append(opinion)
    doubt = by_paths(tool, facts)
    safety = [*by_step.get("safety", ()), *([doubt] if doubt else ())]
    steps = [
        *_steps("deny-rules", by_step.get("deny-rules")),
        *_steps("safety", safety[:1]),
        *_steps("ask-rules", by_step.get("ask-rules")),
        *(Step(opinion.layer or "plugins", opinion) for opinion in by_step.get("", ())),
        *_steps("allow-rules", by_step.get("allow-rules")),
        Step("mode", mode.decide(tool, facts, ctx) if mode.decide else None),
        *_steps("facts", by_step.get("facts") or [by_facts(tool, facts, ctx)]),
    ]
    decision = decide(tool, facts, ctx, opinions, modes)
    if _is_by(decision, mode) and decision not in [step.decision for step in steps]:
        steps.append(Step("mode", decision))
    return decision, steps


def _is_by(decision: Decision, mode: Mode) -> bool:
    return decision.layer == "mode" and isinstance(decision, Deny) and not mode.asks


def _steps(name: str, said: Iterable[Decision] | None) -> list[Step]:
    return [Step(name, opinion) for opinion in said or ()] or [Step(name)]


def _step_of(opinion: Decision) -> str:
    if opinion.layer == "rules":
        return f"{opinion.word}-rules"
    if opinion.layer in SAFETY:
        return "safety"
    return "facts" if opinion.layer == READS else ""
