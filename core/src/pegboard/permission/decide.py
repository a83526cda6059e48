"""How opinions combine: deny beats ask beats allow, and of equals the first in the order of the steps is named.

    deny rules · safety (critical, protected and unresolvable paths) · questions that only a person may answer ·
    ask rules · opinions of hooks, tool and plugins · allow rules · mode · it only reads · ask

Every opinion is a `Decision`; its layer says to which step it belongs. The last two steps count only when nobody has an
opinion. The classifier is not asked here: it is expensive and awaits. A caller that has one asks it when
`modes.may_classify` says so, and takes its answer instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pegboard.calls import Allow, Ask, Decision, Deny
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.extensions import Mode
from pegboard.permission.approved_paths import with_paths
from pegboard.permission.modes import Modes
from pegboard.permission.roots import WorkingDirectories

SAFETY = frozenset({"critical-path", "protected-path", "unresolvable"})
"""Layers of the step safety: no allow and no option answers their questions, only a person does."""

HELD = SAFETY | {"hooks", "forced", "rules"}
"""Layers whose ask a person has to answer even in a mode that lifts asks."""

READS = "read-only"
"""The layer of an allow that counts only when nobody has an opinion. Plugins may widen what is fine to read."""

SEVERITY = {"deny": 0, "ask": 10, "allow": 20}
RULES = {"deny": 0, "ask": 3, "allow": 5}
RANKS = {**dict.fromkeys(SAFETY, 1), "forced": 2, "mode": 6, READS: 9}
OPINION = 4


@dataclass(frozen=True, slots=True)
class Step:
    """What one step said about a call, for `pegboard why`. No decision: no opinion."""

    layer: str
    decision: Decision | None = None


def decide(tool: Tool[Any, Any], facts: Facts, ctx: Context, opinions: Sequence[Decision], modes: Modes) -> Decision:
    """May this call run? From what rules, hooks, tool and plugins said, the mode, and what the call would do."""
    facts = with_paths(facts, ctx)
    mode = modes.effective(ctx.mode, ctx.settings)
    weighed = [*opinions] if not mode.lifts_asks else [said for said in opinions if not _is_lifted(said)]
    if facts.paths and (doubt := by_paths(tool, facts)) is not None:
        weighed.append(doubt)
    if mode.decide is not None and (said := mode.decide(tool, facts, ctx)) is not None:
        weighed.append(said)
    decision = min(weighed, key=_weight) if weighed else by_facts(tool, facts, ctx)
    if mode.asks or not isinstance(decision, Ask):
        return decision
    reason = f"{decision.reason} The mode {mode.name} does not ask for approval."
    return Deny(reason, "mode", decision.rule, decision.source, decision.line, decision.matched)


def _is_lifted(opinion: Decision) -> bool:
    return isinstance(opinion, Ask) and opinion.layer not in HELD


def _weight(opinion: Decision) -> int:
    word, layer = opinion.word, opinion.layer
    return SEVERITY[word] + (RULES[word] if layer == "rules" else RANKS.get(layer, OPINION))


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


def by_paths(tool: Tool[Any, Any], facts: Facts) -> Decision | None:
    """A path that cannot be resolved could be any path."""
    doubtful = ""
    for path in facts.paths:
        if not path.sound:
            doubtful = path.spellings[0]
    if not doubtful:
        return None
    reason = f"{tool.name} would use {doubtful}, and its target cannot be resolved."
    return Ask(reason, "unresolvable", matched=doubtful)


def by_facts(tool: Tool[Any, Any], facts: Facts, ctx: Context) -> Decision:
    """What is left when nobody has an opinion: reading in the working directories is fine, everything else asks."""
    name = tool.name
    if facts.level == "read-only":
        if facts.paths:
            inside = WorkingDirectories.of(ctx)
            for path in facts.paths:
                if not inside.contain(path):
                    at = path.spellings[-1]
                    reason = f"{name} would read {at}, outside the working directories."
                    return Ask(reason, "working-directory", matched=at)
        return Allow("It only reads.", READS)
    if facts.destructive:
        return Ask(facts.reason or f"{name} can destroy something.", "default")
    if facts.read_only:
        return Ask(facts.reason or f"{name} reaches outside this machine.", "default")
    return Ask(facts.reason or f"{name} can change something.", "default")
