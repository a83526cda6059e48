"""The hooks of the rules plugin. Everything that it does is behind hooks that any plugin has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pegboard import Context, Decision, Facts, Fine, Mode, Notice, Settings, Tool, ToolInfo, hookimpl
from pegboard_rules.audit import Audit, AuditLog
from pegboard_rules.lint import problems
from pegboard_rules.modes import MODES
from pegboard_rules.opinions import opinions
from pegboard_rules.remember import remember
from pegboard_rules.ruleset import RuleSet
from pegboard_rules.search_filter import path_filter
from pegboard_rules.suggest import suggest
from pegboard_trust import Trust

if TYPE_CHECKING:
    from pegboard import Input


@hookimpl
def register_modes() -> Sequence[Mode]:
    """The modes that are looser than the default."""
    return MODES


@hookimpl
def record_decisions(settings: Settings, env: Mapping[str, str]) -> Audit | None:
    """The audit log."""
    return Audit.of(settings, env)


@hookimpl
def check_tools(settings: Settings, tools: Mapping[str, ToolInfo]) -> Sequence[Notice]:
    """Rules that do not do what their author thinks."""
    return problems(RuleSet.of(settings), tools)


@hookimpl
def check_permission(tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context) -> Sequence[Decision] | None:
    """The opinions of rules and protected paths on a call."""
    return opinions(tool, args, facts, ctx) or None


@hookimpl
def suggest_rules(
    tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context, decision: Decision
) -> Sequence[str] | None:
    """Rules that would allow exactly this call."""
    return suggest(tool, args, facts, ctx, decision)


@hookimpl
def keep_rules(rules: Sequence[str], ctx: Context) -> str:
    """Write rules to the local settings file of the project."""
    return remember(rules, ctx.settings, Trust.of())


@hookimpl
def filter_paths(tool: Tool[Any, Any], root: str, ctx: Context) -> Callable[[str], bool] | None:
    """Hide from searches what a rule denies."""
    return path_filter(tool, root, ctx)


@hookimpl
def diagnose(settings: Settings) -> Sequence[str]:
    """Whether decisions can be recorded."""
    log = AuditLog.of(settings)
    if log is None:
        return [Fine("Decisions are not recorded here.")]
    return [log.trouble() or Fine(f"Decisions are recorded in {log.path}.")]
