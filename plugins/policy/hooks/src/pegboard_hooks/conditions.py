"""The `if` of a handler: one permission rule that selects the calls it runs for. In doubt it matches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard import Context, Facts, Settings, Tool, ToolInfo
from pegboard.settings import Layer
from pegboard_rules.allow_rules import allows_of
from pegboard_rules.grammar import Rule
from pegboard_rules.match_call import CallView, concerns, restrictions
from pegboard_rules.ruleset import RuleSet
from pegboard_rules.subjects import Subject

if TYPE_CHECKING:
    from pegboard import Input


class Condition:
    """A single rule. Commands are matched as by a deny rule, part by part; paths as by an allow rule."""

    def __init__(self, text: str, layer: Layer, settings: Settings) -> None:
        self._asking = _alone("ask", text, layer, settings)
        self._allowing = _alone("allow", text, layer, settings)
        self.rule: Rule = self._asking.rules[0]

    @property
    def wrong(self) -> str:
        """Why the rule can never match; empty for a valid one."""
        return self.rule.wrong

    def fault_for(self, tools: Mapping[str, ToolInfo]) -> str:
        """Why the rule can never match, given what its tool declares; empty for a valid rule or an unknown tool."""
        info = tools.get(self.rule.tool)
        return self.rule.fault_for(Subject.of(info)) if info and info.known and not self.wrong else ""

    def holds(self, tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context) -> bool:
        """Whether the rule may cover this call."""
        if self.wrong:
            return True
        call = CallView(tool, facts, ctx, args, self._asking)
        if self.rule.tool in call.view.names and self.rule.fault_for(call.subject):
            return True
        found = restrictions(call)
        if found.doubt is not None:
            return True
        if found.ask is None:
            return False
        speaks_of_paths = self.rule.may_be_path and (self.rule.is_capability or call.subject.takes_paths)
        if not speaks_of_paths or self.rule.param:
            return True
        return self._covers_a_path(CallView(tool, call.facts, ctx, args, self._allowing))

    def _covers_a_path(self, call: CallView) -> bool:
        for path in call.paths:
            if not path.sound:
                return True
            if self.rule.is_capability and not concerns(self.rule, path):
                continue
            if any(allows_of(spelling, self.rule.tool, call) for spelling in path.spellings):
                return True
        return False


def _alone(kind: str, text: str, layer: Layer, settings: Settings) -> RuleSet:
    only = Layer(layer.name, layer.source_of("hooks"), {f"permissions.{kind}": [text]})
    return RuleSet(Settings([only], cwd=settings.cwd, root=settings.root))
