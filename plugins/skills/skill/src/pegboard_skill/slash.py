"""Skills and commands as slash commands, for people: `/name arguments`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pegboard import PegboardError, ToolError
from pegboard_session import Expansion, SlashCommand, SlashPrompt, announce_expansion
from pegboard_skill.plugin import SERVICE
from pegboard_skill.skill_file import Skill
from pegboard_skill.skills import Skills
from pegboard_skill.use import run_in_agent, text_of

if TYPE_CHECKING:
    from pegboard_session import Session

SUMMARY = 200


def slash_commands(session: Session) -> Iterable[SlashCommand]:
    """The commands and skills that a person may use, as they are now."""
    skills = session.ctx.services.others.get(SERVICE)
    if not isinstance(skills, Skills):
        return
    for skill in skills.catalogue():
        if skill.head.for_people:
            yield SlashCommand(
                skill.slash,
                skill.head.description[:SUMMARY],
                _Run(skills, skill),
                arguments=skill.head.argument_hint,
                is_fallback=True,
            )


class _Run:
    """Uses one skill or command when it is called."""

    def __init__(self, skills: Skills, skill: Skill) -> None:
        self._skills, self._skill = skills, skill

    async def __call__(self, session: Session, given: str) -> str | SlashPrompt | None:
        skills, skill, ctx = self._skills, self._skill, session.ctx
        more = await announce_expansion(Expansion(skill.slash, given, skill.origin), ctx)
        try:
            with skills.grants.during(skill, ctx.settings):
                text = await text_of(skill, given, ctx)
            if skill.head.forks:
                report = await run_in_agent(skill, text, session, ctx)
                session.conversation.remind(f"The user ran /{skill.slash} in a sub-agent, which reported:\n\n{report}")
                return report
        except ToolError as error:
            raise PegboardError(error.message) from None
        prompt = "\n\n".join(filter(None, (f"/{skill.slash} {given}".strip(), text, more)))
        skills.begin_with(skill, prompt, ctx)
        return SlashPrompt(prompt)
