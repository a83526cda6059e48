"""What a skill allows, and forbids, until the next prompt: like rules, and below those that deny or ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pegboard import Allow, Context, Decision, Deny, Facts, Settings, Tool
from pegboard.settings import Layer
from pegboard_rules import check_permission
from pegboard_skill.files_elsewhere import grants_count
from pegboard_skill.skill_file import Skill

if TYPE_CHECKING:
    from pegboard import Input

MANAGED_ONLY = "allowManagedPermissionRulesOnly"


class Grants:
    """The skills that were used since the last prompt, as far as they allow or forbid something."""

    def __init__(self) -> None:
        self._active: list[tuple[Skill, Settings]] = []
        self._waiting: list[tuple[str | None, Skill, Settings]] = []

    def add(self, skill: Skill, settings: Settings) -> None:
        """A skill is used now: what it says counts until the next prompt."""
        if made := _as_settings(skill, settings):
            self._active = [(known, rules) for known, rules in self._active if known.name != skill.name]
            self._active.append((skill, made))

    @contextmanager
    def during(self, skill: Skill, settings: Settings) -> Iterator[None]:
        """What a skill says counts only here: for what it inserts itself."""
        before = self._active.copy()
        self.add(skill, settings)
        try:
            yield
        finally:
            self._active = before

    def expect(self, prompt: str | None, skill: Skill, settings: Settings) -> None:
        """A skill is used by a prompt that is about to be sent; None for whatever comes next."""
        if made := _as_settings(skill, settings):
            self._waiting.append((prompt, skill, made))

    def begin_prompt(self, prompt: str) -> None:
        """A prompt was sent: what counted before it no longer does."""
        self._active = [(skill, made) for text, skill, made in self._waiting if text is None or text == prompt]
        self._waiting.clear()

    def opinions(self, tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context) -> Sequence[Decision]:
        """What the skills in use think of a call."""
        said: list[Decision] = []
        counts = grants_count(facts, ctx)
        for skill, rules in self._active:
            found = check_permission(tool, args, facts, replace(ctx, settings=rules)) or ()
            decided = [opinion for opinion in found if isinstance(opinion, (Allow, Deny)) and opinion.layer == "rules"]
            decided = [opinion for opinion in decided if counts or isinstance(opinion, Deny)]
            said += [_by_skill(opinion, skill, tool.name) for opinion in decided]
        return said


def _by_skill(opinion: Decision, skill: Skill, tool: str) -> Decision:
    word = "allows" if isinstance(opinion, Allow) else "does not allow"
    reason = f"{skill.what} {word} {tool} until the next prompt, with {opinion.rule}."
    return replace(opinion, reason=reason, layer="skill", source=skill.path, line=None)


def _as_settings(skill: Skill, settings: Settings) -> Settings | None:
    """The lists of a skill as rules of their own. Where only managed rules may allow, a skill allows nothing."""
    allowed = () if settings.get(MANAGED_ONLY, False) else skill.grants
    lists = {"permissions.allow": list(allowed), "permissions.deny": list(skill.head.disallowed_tools)}
    values = {key: rules for key, rules in lists.items() if rules}
    if not values:
        return None
    layer = Layer("cli", f"the skill {skill.name}", values)
    return Settings([layer], cwd=settings.cwd, root=settings.root, keys=settings.keys)
