"""Suggest rules that would allow exactly this call, for a person who answers "always"."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pegboard import Allow, Context, Decision, Facts, Settings, Tool
from pegboard.settings import Layer
from pegboard_rules.allow_rules import covering
from pegboard_rules.grammar import Rule
from pegboard_rules.match_call import CallView
from pegboard_rules.opinions import decide_by_rules
from pegboard_rules.subjects import EDIT, READ

if TYPE_CHECKING:
    from pegboard import Input

OUTPUT = r"\s|&&|\|\||;|[12]?>&[12](?!\S)|[12&]?>[ \t]*/dev/null(?!\S)"
BETWEEN, PIPED = re.compile(rf"(?:{OUTPUT})*"), re.compile(rf"(?:{OUTPUT}|\|)*")
"""What may precede a part that needs a rule, follow the last, and precede one that only reads."""

MOVING = frozenset({"cd", "pushd", "popd"})
MOST_RULES = 5
"""More rules than this are not read before approval; a call that needs more is approved each time."""

ANSWERABLE = frozenset({"default", "working-directory"})
"""Layers whose ask an allow rule answers. Safety checks, ask rules, hooks and modes ask again whatever is allowed."""


def suggest(tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context, decision: Decision) -> tuple[str, ...]:
    """The rules to save; none where no rule covers only this call, or where a rule would not help."""
    if decision.layer not in ANSWERABLE:
        return ()
    call = CallView(tool, facts, ctx, args)
    if facts.parts and not _stand_alone(call):
        return ()
    rules = tuple(dict.fromkeys(_wanted(call)))
    if not rules or len(rules) > MOST_RULES or not all(map(_is_exact, rules)):
        return ()
    # Tried out before they are offered: "always" must never lead to the same question again.
    return rules if isinstance(decide_by_rules(tool, facts, _with(rules, ctx), args), Allow) else ()


def _stand_alone(call: CallView) -> bool:
    """Whether each part that needs a rule appears literally in the command and has no piped input.

    What is fed by a pipe, a file or a wrapper does what it is fed: a rule for it would cover every other meal too. What
    runs behind a `cd` would be allowed everywhere.
    """
    text = (call.given() or {}).get(call.subject.parameter)
    if call.subject.kind != "command" or not isinstance(text, str):
        return True
    at = 0
    for part in call.facts.parts:
        found = text.find(part.text, at)
        if (
            part.text.partition(" ")[0] in MOVING
            or found < 0
            or not (PIPED if part.read_only else BETWEEN).fullmatch(text[at:found])
        ):
            return False
        at = found + len(part.text)
    return BETWEEN.fullmatch(text[at:]) is not None


def _wanted(call: CallView) -> Iterator[str]:
    for part in call.facts.parts:
        if not part.read_only:
            yield f"{call.name}({_escaped_text(part.text)})"
    for path in call.paths:
        outside = not call.is_inside(path)
        if (path.change or outside) and covering(call, path) is None:
            tool = EDIT if path.change else READ
            yield from (f"{tool}(/{escaped_path(spelling)})" for spelling in path.spellings)
    if not call.facts.parts and not call.paths:
        yield from (f"{call.name}(domain:{host})" for host in call.hosts() if host and "*" not in host)


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
    if rule.host or rule.is_capability:
        return True
    exact = rule.pattern.exact if rule.pattern else None
    return exact is not None and _escaped_text(exact) == rule.specifier


def _with(rules: tuple[str, ...], ctx: Context) -> Context:
    """The context as if the rules were in force."""
    old = ctx.settings
    layer = Layer("local", os.path.join(old.root, "suggested"), {"permissions.allow": list(rules)})
    return replace(ctx, settings=Settings([*old.layers, layer], cwd=old.cwd, root=old.root))
