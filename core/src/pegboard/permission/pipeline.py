"""The order in which a call is judged. Opinions are collected; deny beats ask beats allow."""

from __future__ import annotations

from typing import Any

from pegboard.calls import Allow, Ask, Decision, Deny, strictest
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.settings.layers import Settings
from pegboard.settings.rules import bare_name, name_matches


def by_rules(tool: Tool[Any, Any], settings: Settings) -> list[Decision]:
    """What the rules of all settings layers say about a tool. A rule that is narrower than a tool asks when in doubt."""
    opinions: list[Decision] = []
    for kind, key in ((Deny, "permissions.deny"), (Ask, "permissions.ask"), (Allow, "permissions.allow")):
        for rule, layer in settings.items(key):
            source = layer.source_of(key)
            name = bare_name(rule)
            if name and any(name_matches(name, known) for known in (tool.name, *tool.aliases)):
                opinions.append(kind(f"The rule {rule} in {source}.", layer="rules", rule=rule, source=source))
            elif name is None and kind is not Allow and rule.partition("(")[0].strip() in (tool.name, *tool.aliases):
                reason = f"The rule {rule} in {source} may cover this call."
                opinions.append(Ask(reason, layer="rules", rule=rule, source=source))
    return opinions


def by_facts(tool: Tool[Any, Any], facts: Facts) -> Decision:
    """What is left when nobody has an opinion: reading at home is fine, everything else asks."""
    if facts.level == "read-only":
        return Allow("It only reads.", layer="read-only")
    if facts.destructive:
        return Ask(facts.reason or f"{tool.name} can destroy something.", layer="default")
    if facts.read_only:
        return Ask(facts.reason or f"{tool.name} reaches outside this machine.", layer="default")
    return Ask(facts.reason or f"{tool.name} can change something.", layer="default")


def judge(tool: Tool[Any, Any], facts: Facts, ctx: Context, opinions: list[Decision]) -> Decision:
    """The decision on a call, from what hooks and the tool said, the rules, and the facts."""
    found = strictest(by_rules(tool, ctx.settings) + opinions)
    decision = found or by_facts(tool, facts)
    if isinstance(decision, Ask) and ctx.mode == "dontAsk":
        return Deny(f"{decision.reason} The mode dontAsk asks nobody.", layer="mode", rule=decision.rule)
    return decision
