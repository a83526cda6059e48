"""Rules that would allow this very call and nothing more, for the person who says: always."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pegboard.calls import Allow, Decision
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.inputs import Input
from pegboard.permission.allowing import covering
from pegboard.permission.compiled import Compiled
from pegboard.permission.grammar import Rule
from pegboard.permission.matcher import Case, hosts_of
from pegboard.permission.pipeline import judge
from pegboard.settings import Layer, Settings

MOST_RULES = 5
"""Nobody reads more rules than this before agreeing; a call that needs more is approved each time."""

ANSWERABLE = frozenset({"default", "working-directory"})
"""Layers whose ask an allow rule answers. Safety checks, ask rules, hooks and modes ask again whatever is allowed."""


def suggest(tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context, decision: Decision) -> tuple[str, ...]:
    """The rules to keep, or none where no rule covers only this call, or where a rule would not help."""
    if decision.layer not in ANSWERABLE:
        return ()
    case = Case(tool, facts, ctx, args, Compiled.of(ctx.settings), ctx.mode)
    rules = tuple(dict.fromkeys(_wanted(case)))
    if not rules or len(rules) > MOST_RULES or not all(map(_is_exact, rules)):
        return ()
    return rules if isinstance(judge(tool, facts, _with(rules, ctx), [], args), Allow) else ()


def _wanted(case: Case) -> Iterator[str]:
    for part in case.facts.parts:
        if not part.read_only:
            yield f"{case.name}({_escaped_text(part.text)})"
    for path in case.paths:
        outside = not case.is_inside(path)
        if (path.change or outside) and covering(case, path) is None:
            tool = "Edit" if path.change else "Read"
            yield from (f"{tool}(/{escaped_path(spelling)})" for spelling in path.spellings)
    if not case.facts.parts and not case.paths:
        yield from (f"{case.name}(domain:{host})" for host in hosts_of(case) if host and "*" not in host)


def escaped_path(path: str) -> str:
    """A path as a pattern that means only itself."""
    return "".join(f"\\{character}" if character in "\\*?[]!" else character for character in path)


def _escaped_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("*", "\\*")


def _is_exact(text: str) -> bool:
    """Whether a rule reads back as what it was made from: no wildcard, nothing trimmed, no second meaning."""
    rule = Rule("allow", text, source="", layer="local", anchor="/")
    if rule.wrong or rule.specifier is None or text != f"{rule.tool}({rule.specifier})" or "\n" in text:
        return False
    if rule.is_host_rule or rule.tool in ("Read", "Edit"):
        return True
    exact = rule.pattern.exact if rule.pattern else None
    return exact is not None and _escaped_text(exact) == rule.specifier


def _with(rules: tuple[str, ...], ctx: Context) -> Context:
    """The context as it would be with the rules in force."""
    old = ctx.settings
    layer = Layer("local", os.path.join(old.root, "suggested"), {"permissions.allow": list(rules)})
    return replace(ctx, settings=Settings([*old.layers, layer], cwd=old.cwd, root=old.root))
