"""What a skill changes besides its words: the model and the effort of the turn that uses it, and hooks from then on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from pegboard import PegboardError
from pegboard_session.cleared_results import drop_thinking
from pegboard_skill.skill_file import EFFORTS, Skill

if TYPE_CHECKING:
    from pegboard_session import Session

HOOKS = "scoped_hooks"
"""The service that runs hooks in a part of a session, where one is installed."""
TIERS = ("sonnet", "opus", "haiku")
"""Models of other hosts. Where no model has this alias, the model of the session does."""


class Hooks(Protocol):
    """What is asked of that service."""

    def add(self, source: str, hooks: Mapping[str, Any]) -> list[str]:
        """Let these run from now on; returns what is wrong with them."""
        ...


class SkillTurn:
    """What the skills of one session have changed. Only those that are trusted change anything."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._before = self._chosen = ""
        self._expected: tuple[str, Skill] | None = None
        self._is_begun = False

    def expect(self, prompt: str, skill: Skill) -> None:
        """A skill is used by a prompt that is about to be sent."""
        self._expected = prompt, skill

    def begin(self, prompt: str) -> None:
        """A prompt was sent."""
        self._restore()
        expected, self._expected = self._expected, None
        if expected and expected[0] == prompt:
            self.use(expected[1])

    def use(self, skill: Skill) -> None:
        """A skill is used in this turn."""
        if not skill.trusted:
            return
        if skill.head.effort in EFFORTS:
            self._session.asking.effort = skill.head.effort
        if skill.head.model and not skill.head.forks:  # An agent of its own was started with the model.
            self._choose(skill)
        self.add_hooks(skill)

    def add_hooks_once(self, skills: Iterable[Skill]) -> None:
        """Let the hooks run of skills that are in the conversation since an earlier process."""
        if not self._is_begun:
            self._is_begun = True
            for skill in skills:
                self.add_hooks(skill)

    def add_hooks(self, skill: Skill) -> None:
        """Let the hooks of a skill run as long as its text is in the conversation."""
        service = self._session.ctx.services.others.get(HOOKS)
        if not skill.trusted or not skill.head.hooks or service is None:
            return
        for words in cast("Hooks", service).add(skill.path, _filled(skill)):
            self._session.emit("notice", message=words, data={})

    def _choose(self, skill: Skill) -> None:
        session, wanted = self._session, skill.head.model
        if wanted in TIERS and session.models.resolve(wanted) == wanted:
            return
        before = self._before or session.model
        try:
            self._change_to(wanted)
        except PegboardError as error:
            words = f"{skill.what} asks for the model {wanted}, which is not used: {error}"
            session.emit("notice", message=words, data={})
            return
        self._before, self._chosen = before, session.model

    def _change_to(self, name: str) -> None:
        """Ask another model. Thinking that is bound to a model may be dropped between turns, and not within one."""
        session = self._session
        is_bound = session.profile.binds_thinking or session.models.profile(name).binds_thinking
        if is_bound and session.models.resolve(name) != session.model:
            if session.interruption.turn is not None:
                raise PegboardError("this model's thinking is bound to it until the turn ends.")
            drop_thinking(session.messages)
        session.set_model(name)

    def _restore(self) -> None:
        session = self._session
        session.asking.effort = ""
        if self._before and session.model == self._chosen:  # Otherwise the person has chosen another one meanwhile.
            self._change_to(self._before)
        self._before = self._chosen = ""


def _filled(skill: Skill) -> dict[str, Any]:
    """The hooks of a skill with the folders that only it knows."""
    text = json.dumps(dict(skill.head.hooks))
    for name, value in {"CLAUDE_SKILL_DIR": skill.folder, **dict(skill.variables)}.items():
        text = text.replace(f"${{{name}}}", json.dumps(value)[1:-1])
    filled: dict[str, Any] = json.loads(text)
    return filled
