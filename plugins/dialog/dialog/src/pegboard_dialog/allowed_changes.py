"""Which settings Config shows, and which it may change. Whatever guards, runs or reaches something is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pegboard import Context
from pegboard.hosting import GUARDS
from pegboard.settings import Key, read_values
from pegboard.wording import did_you_mean

SIMPLE = ("bool", "string", "choice", "count", "integer", "number", "amount")
"""Kinds with one plain value. Lists and objects name rules, servers, variables and folders."""

GUARDING = (
    *("permissions", "sandbox", "hooks", "mcp", "classifier", "openai", "anthropic"),
    *("audit", "auditInput", "disableAllHooks", "disableSkillShellExecution", "bash.confine", "bash.snapshot"),
    *("systemPrompt", "appendSystemPrompt", "compaction.focus", "jsonSchema", "provider", "strict", "undo"),
)
"""Settings and groups that decide what is allowed, what runs, who is asked or what the model is told."""

LOGIN = re.compile(r"://[^/?#\s]*@")
"""A name and a password in an address."""

OWNERS = ("baked", "managed")


def refusal(name: str, ctx: Context) -> str:
    """Why Config may not change a setting, as a sentence; empty if it may."""
    keys = ctx.settings.keys
    key = keys.get(name)
    if key is None:
        return f"There is no setting {name!r}.{did_you_mean(name, keys)} List them with action list."
    if key.guard or key.reserves or key.kind in ("rules", "mode") or name in GUARDS or _lies_in(name, GUARDING):
        return f"{name} decides what is allowed or what runs. Only the user can change it, in a settings file."
    if key.kind not in SIMPLE:
        return f"{name} has no single value. Only the user can change it, in a settings file."
    holders = ctx.settings.holders(name)
    if holders and holders[0].name in OWNERS:
        return f"{name} is set in {holders[0].source_of(name)}, which belongs to the owner of this machine."
    return ""


def misfit(name: str, value: Any, ctx: Context) -> str:
    """What is wrong with a value, as a sentence; empty if it fits."""
    problems = read_values("user", "Config", {name: value}, ctx.settings.keys).problems
    return str(problems[0]).removeprefix("Config: ") if problems else ""


def shown_value(key: Key, value: Any) -> Any:
    """A value for the model. Texts in objects may be secrets, such as headers and variables: only their names show."""
    if key.kind in ("map", "object", "lists") or _lies_in(key.name, ("mcp", "hooks")):
        return _masked(value)
    if isinstance(value, list | tuple):
        return [_without_login(inner) for inner in value]
    return _without_login(value)


def _without_login(value: Any) -> Any:
    return LOGIN.sub("://(not shown)@", value) if isinstance(value, str) else value


def _masked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    return "(not shown)" if isinstance(value, str) else value


def _lies_in(name: str, groups: tuple[str, ...]) -> bool:
    return any(name == group or name.startswith(f"{group}.") for group in groups)
