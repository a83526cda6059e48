"""The order in which a call is judged. Opinions are collected; deny beats ask beats allow; the first is named.

    deny rules · safety (protected, critical and unresolvable paths) · ask rules · opinions of hooks, tool and plugins ·
    allow rules · mode · it only reads · (classifier, in the mode auto) · ask

The classifier is not run here: it is expensive and awaits. A caller that has one runs it when `modes.may_classify` says
so of the decision, and takes its answer instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pegboard.calls import Allow, Ask, Decision, Deny, strictest
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.inputs import Input
from pegboard.permission.allowing import allowed, covering
from pegboard.permission.compiled import Compiled
from pegboard.permission.grammar import Rule
from pegboard.permission.matcher import Case, Hit, restrictions
from pegboard.permission.modes import HELD, by_mode, effective


@dataclass(frozen=True, slots=True)
class Step:
    """What one layer said about a call, for `pegboard why`. No decision: no opinion."""

    layer: str
    decision: Decision | None = None


def judge(
    tool: Tool[Any, Any], facts: Facts, ctx: Context, opinions: Sequence[Decision], args: Input | None = None
) -> Decision:
    """May this call run? From the rules, what hooks, tool and plugins said, the mode, and what the call would do.

    Without `args`, rules on parameters and on inputs that the tool did not take apart cannot be checked: then they ask.
    """
    case = _case(tool, facts, ctx, args)
    found = restrictions(case)
    if found.deny is not None:
        return by_rule(case, found.deny)
    said = strictest(list(opinions)) if opinions else None
    if isinstance(said, Deny):
        return said
    moded = _by_mode(case)
    if isinstance(moded, Deny):
        return moded
    ask = by_safety(case) or _forced(opinions) or _by_ask_rules(case, found.ask, found.doubt) or _held(case, said)
    if ask is None and isinstance(moded, Ask):
        ask = moded
    if ask is not None:
        return _finished(case, ask)
    if isinstance(said, Allow):
        return said
    hit = allowed(case)
    if hit is not None:
        return by_rule(case, hit)
    return moded or _finished(case, by_facts(case))


def judge_with_trace(
    tool: Tool[Any, Any], facts: Facts, ctx: Context, opinions: Sequence[Decision], args: Input | None = None
) -> tuple[Decision, list[Step]]:
    """The decision of `judge`, and what each layer said on the way, in their order; none is left out."""
    case = _case(tool, facts, ctx, args)
    found = restrictions(case)
    hit = allowed(case)
    steps = [
        Step("deny-rules", by_rule(case, found.deny) if found.deny else None),
        Step("safety", by_safety(case)),
        Step("ask-rules", _by_ask_rules(case, found.ask, found.doubt)),
        *(Step(opinion.layer or "plugins", opinion) for opinion in opinions),
        Step("allow-rules", by_rule(case, hit) if hit else None),
        Step("mode", _by_mode(case)),
        Step("facts", by_facts(case)),
    ]
    decision = judge(tool, facts, ctx, opinions, args)
    if decision.layer == "mode" and isinstance(decision, Deny) and decision not in [step.decision for step in steps]:
        steps.append(Step("mode", decision))
    return decision, steps


def _case(tool: Tool[Any, Any], facts: Facts, ctx: Context, args: Input | None) -> Case:
    settings = ctx.settings
    mode = ctx.mode if ctx.mode == "default" else effective(ctx.mode, settings)
    return Case(tool, facts, ctx, args, Compiled.of(settings), mode)


WORDS = {"deny": "was denied by", "ask": "needs approval because of", "allow": "is allowed by"}
KINDS: dict[str, type[Decision]] = {"deny": Deny, "ask": Ask, "allow": Allow}


def by_rule(case: Case, hit: Hit) -> Decision:
    """The decision that a rule makes, with the place where it stands."""
    rule, matched = hit
    reason = f"{case.name} {WORDS[rule.kind]} the rule {rule.text} in {rule.shown}."
    return KINDS[rule.kind](reason, "rules", rule.text, rule.source, rule.line, matched)


def _by_ask_rules(case: Case, hit: Hit | None, doubt: Rule | None) -> Decision | None:
    if hit is not None:
        return by_rule(case, hit)
    if doubt is None:
        return None
    reason = f"{case.name} needs approval because the rule {doubt.text} in {doubt.shown} may cover it."
    return Ask(reason, "rules", doubt.text, doubt.source, doubt.line)


def by_safety(case: Case) -> Decision | None:
    """What no allow rule, no hook and, but for protected paths, no mode can wave through."""
    doubtful = None
    for path in case.paths:
        if path.delete and (spelling := case.place.guard.is_critical(path)):
            reason = f"{case.name} would delete {spelling}, which much depends on."
            return Ask(reason, "critical-path", matched=spelling)
        if not path.sound:
            doubtful = path.spellings[0]
    if case.mode != "bypassPermissions":
        for path in case.paths:
            if path.change and (spelling := case.place.guard.protects(path)):
                reason = f"{case.name} would change {spelling}, a protected path: it can run code or set policy."
                return Ask(reason, "protected-path", matched=spelling)
    if doubtful is None:
        return None
    reason = f"{case.name} would use {doubtful}, and where that leads cannot be found out."
    return Ask(reason, "unresolvable", matched=doubtful)


def _forced(opinions: Sequence[Decision]) -> Decision | None:
    """A question that only a person may answer stands before ask rules, so that no option is taken for the answer."""
    return next((said for said in opinions if isinstance(said, Ask) and said.layer == "forced"), None)


def _held(case: Case, said: Decision | None) -> Decision | None:
    """An ask of a hook or tool; in bypassPermissions only those that a person must answer are left."""
    if not isinstance(said, Ask) or (case.mode == "bypassPermissions" and said.layer not in HELD):
        return None
    return said


def _by_mode(case: Case) -> Decision | None:
    mode = case.mode
    if mode in ("default", "auto", "dontAsk"):
        return None
    inside = mode == "acceptEdits" and all(case.is_inside(path) for path in case.paths)
    return by_mode(mode, case.name, case.facts, inside=inside)


def by_facts(case: Case) -> Decision:
    """What is left when nobody has an opinion: reading at home is fine, everything else asks."""
    facts, name = case.facts, case.name
    if facts.level == "read-only":
        for path in case.paths:
            if not case.is_inside(path) and covering(case, path) is None:
                at = path.spellings[-1]
                return Ask(f"{name} would read {at}, outside the working directories.", "working-directory", matched=at)
        return Allow("It only reads.", "read-only")
    if facts.destructive:
        return Ask(facts.reason or f"{name} can destroy something.", "default")
    if facts.read_only:
        return Ask(facts.reason or f"{name} reaches outside this machine.", "default")
    return Ask(facts.reason or f"{name} can change something.", "default")


def _finished(case: Case, decision: Decision) -> Decision:
    """The decision as the mode lets it stand: in dontAsk nobody is asked."""
    if case.mode != "dontAsk" or not isinstance(decision, Ask):
        return decision
    reason = f"{decision.reason} The mode dontAsk asks nobody."
    return Deny(reason, "mode", decision.rule, decision.source, decision.line, decision.matched)
