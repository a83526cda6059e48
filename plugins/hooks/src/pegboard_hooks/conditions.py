"""The `if` of a handler: one permission rule that says which calls it is about. In doubt it holds."""

from __future__ import annotations

from typing import Any

from pegboard import Context, Facts, Input, Tool
from pegboard.permission.compiled import Compiled
from pegboard.permission.grammar import Rule
from pegboard.permission.matcher import Case, concerns, hits_on, restrictions
from pegboard.settings import Layer, Settings


class Condition:
    """A rule on its own. Commands are read as by a deny rule, part by part; paths as by an allow rule."""

    def __init__(self, text: str, layer: Layer, settings: Settings) -> None:
        self._asking = _alone("ask", text, layer, settings)
        self._allowing = _alone("allow", text, layer, settings)
        self.rule: Rule = self._asking.rules[0]

    @property
    def wrong(self) -> str:
        """Why the rule can never match; empty for a sound one."""
        return self.rule.wrong

    def holds(self, tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context) -> bool:
        """Whether the rule may cover this call."""
        if self.wrong:
            return True
        case = Case(tool, facts, ctx, args, self._asking, "default")
        found = restrictions(case)
        if found.doubt is not None:
            return True
        if found.ask is None:
            return False
        if self.rule.specifier is None or not self.rule.is_path_rule or self.rule.param:
            return True
        return self._covers_a_path(case)

    def _covers_a_path(self, case: Case) -> bool:
        rules = self._allowing
        for path in case.paths:
            if not path.sound:
                return True
            if concerns(self.rule, path, case.view) and any(
                hits_on(spelling, rules.allow_root, rules.allow_cwd, case.place.allow_bases)
                for spelling in path.spellings
            ):
                return True
        return False


def _alone(kind: str, text: str, layer: Layer, settings: Settings) -> Compiled:
    only = Layer(layer.name, layer.source_of("hooks"), {f"permissions.{kind}": [text]})
    return Compiled(Settings([only], cwd=settings.cwd, root=settings.root))
