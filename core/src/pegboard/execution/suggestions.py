"""Rules for the person who says "always": plugins suggest them, and plugins keep them."""

from __future__ import annotations

import logging
from typing import Any

from pegboard.calls import Decision
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.errors import SettingsError
from pegboard.execution.hooks import BoundHooks
from pegboard.inputs import Input

log = logging.getLogger("pegboard")


def suggested_rules(
    tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context, decision: Decision, hooks: BoundHooks
) -> tuple[str, ...]:
    """The rules that would have allowed this call, from the first plugin that has any. One that fails has none."""
    for plugin, hook in hooks.named("suggest_rules"):
        try:
            rules = tuple(hook(tool, args, facts, ctx, decision) or ())
        except Exception:
            log.exception("suggest_rules of %s failed", plugin)
            continue
        if rules:
            return rules
    return ()


def keep_rules(rules: tuple[str, ...], ctx: Context, hooks: BoundHooks) -> str:
    """Keep rules that a person agreed to; the first plugin that keeps them says where."""
    for _, hook in hooks.named("keep_rules"):
        where = hook(rules, ctx)
        if where:
            return str(where)
    raise SettingsError("No plugin can save rules.", source="rules")
