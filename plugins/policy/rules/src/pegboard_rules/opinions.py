"""The opinions of rules and protected paths on a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Allow, Ask, Context, Decision, Deny, Facts, Tool
from pegboard.permission import READS, decide, with_paths
from pegboard_rules.allow_rules import allowed, covers_reading
from pegboard_rules.grammar import Rule
from pegboard_rules.match_call import CallView, Hit, restrictions
from pegboard_rules.modes import ALL, is_bypassing
from pegboard_rules.ruleset import RuleSet

if TYPE_CHECKING:
    from pegboard import Input

WORDS = {"deny": "was denied by", "ask": "needs approval because of", "allow": "is allowed by"}
TYPES: dict[str, type[Decision]] = {"deny": Deny, "ask": Ask, "allow": Allow}


def opinions(tool: Tool[Any, Any], args: Input | None, facts: Facts, ctx: Context) -> list[Decision]:
    """All that can be said of a call; the strictest counts, and `pegboard why` shows the others.

    Without `args`, rules on parameters and on inputs that the tool did not take apart cannot be checked: then they ask.
    """
    rules = RuleSet.of(ctx.settings)
    if not rules.rules and not (facts.reads or facts.writes or facts.deletes):
        return []
    call = CallView(tool, facts, ctx, args, rules)
    found = restrictions(call)
    said: list[Decision] = []
    if found.deny is not None:
        said.append(by_rule(call, found.deny))
    # Before allow rules, which cannot override it.
    if call.paths and (asks := by_safety(call, ctx)) is not None:
        said.append(asks)
    if found.ask is not None:
        said.append(by_rule(call, found.ask))
    elif found.doubt is not None:
        said.append(in_doubt(call, found.doubt))
    hit = allowed(call)
    if hit is not None:
        said.append(by_rule(call, hit))
    elif call.paths and facts.level == "read-only" and covers_reading(call):
        said.append(Allow("It only reads.", READS))
    return said


def by_rule(call: CallView, hit: Hit) -> Decision:
    """The decision that a rule makes, with the file and line where it is written."""
    rule, matched = hit
    which = f", which covers {matched!r}" if len(call.facts.parts) > 1 and _is_part(call, matched) else ""
    reason = f"{call.name} {WORDS[rule.kind]} the rule {rule.text} in {rule.shown}{which}."
    return TYPES[rule.kind](reason, "rules", rule.text, rule.source, rule.line, matched)


def _is_part(call: CallView, matched: str) -> bool:
    return any(matched in (part.text, *part.also) for part in call.facts.parts)


def in_doubt(call: CallView, rule: Rule) -> Decision:
    """The question raised by a rule that may cover the call."""
    reason = f"{call.name} needs approval because the rule {rule.text} in {rule.shown} may cover it."
    return Ask(reason, "rules", rule.text, rule.source, rule.line)


def by_safety(call: CallView, ctx: Context) -> Decision | None:
    """Checks that no allow rule or hook can override, and a mode only for protected paths."""
    protected = call.scope.protected
    for path in call.paths:
        if path.delete and (spelling := protected.is_critical(path)):
            return Ask(f"{call.name} would delete {spelling}, a critical path.", "critical-path", matched=spelling)
    for path in call.paths:
        if path.change and (spelling := protected.protects(path)):
            if is_bypassing(ctx.mode, ctx.settings):
                return None
            reason = f"{call.name} would change {spelling}, a protected path: it can run code or set policy."
            return Ask(reason, "protected-path", matched=spelling)
    return None


def decide_by_rules(
    tool: Tool[Any, Any], facts: Facts, ctx: Context, args: Input | None = None, also: list[Decision] | None = None
) -> Decision:
    """The decision of a board with only these rules and the opinions in `also`."""
    facts = with_paths(facts, ctx)
    return decide(tool, facts, ctx, [*(also or ()), *opinions(tool, args, facts, ctx)], ALL)
