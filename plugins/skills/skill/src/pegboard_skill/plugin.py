"""The hooks: the tool, what the model is told about skills, and what they allow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegboard import Context, Decision, Facts, Fine, Question, Settings, Tool, ToolError, hookimpl

if TYPE_CHECKING:
    from pegboard import Input
    from pegboard_session import PromptPart, Session
    from pegboard_skill.skill import Skill
    from pegboard_skill.skills import Skills

SERVICE = "skills"


@hookimpl
def register_tools() -> list[Skill]:
    from pegboard_skill.skill import Skill  # Every session loads these hooks, and few use the tool.

    return [Skill()]


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    from pegboard_skill.skills import Skills  # A call without a session needs none of it.

    return {SERVICE: Skills(session)}


@hookimpl
async def system_prompt_parts(session: Session, ctx: Context) -> list[PromptPart]:
    """The skills that an agent's definition names, which it knows from the start."""
    from pegboard_session import PromptPart  # Only a session that opens needs it.

    skills, wanted = _skills(ctx), session.definition.skills if session.definition else ()
    if skills is None or not wanted:
        return []
    return [PromptPart("skills", await _preloaded(skills, wanted, ctx), order=80)]


async def _preloaded(skills: Skills, names: Sequence[str], ctx: Context) -> str:
    said: list[str] = []
    for name in names:
        found = skills.find(name)
        try:
            said.append(await skills.preload(found, ctx) if found else f"There is no skill {name!r}.")
        except ToolError as error:
            said.append(error.message)
    return "\n\n".join(said)


@hookimpl
def add_reminders(session: Session, moment: str) -> list[str]:
    skills = _skills(session.ctx)
    if skills is None:
        return []
    if moment == "prompt":  # What skills allowed for the last prompt no longer counts.
        skills.begin_prompt(session.conversation.prompt)
    return skills.news(moment)


@hookimpl
def check_permission(tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context) -> Sequence[Decision] | None:
    skills = _skills(ctx)
    return skills.grants.opinions(tool, args, facts, ctx) if skills else None


# Before all others: what a skill inserts is put to no one.
@hookimpl(priority=-1000)
def ask_user(question: Question) -> Decision | None:
    from pegboard_skill.insertion import refuse_to_ask  # Few calls ask.

    return refuse_to_ask(question.decision)


@hookimpl
def after_call(ctx: Context) -> None:
    """Remember which files a call was approved to touch: there may be skills for them."""
    if skills := _skills(ctx):
        for path in ctx.approved_paths or ():
            if os.path.isfile(path):
                skills.visit(path)


@hookimpl
def after_compact(ctx: Context) -> str:
    from pegboard_session.reminders import as_reminder  # Only long conversations are compacted.

    skills = _skills(ctx)
    return "\n".join(as_reminder(words) for words in skills.after_summary()) if skills else ""


@hookimpl
def diagnose(settings: Settings) -> list[str]:
    """What is wrong with the files of skills and commands, with file and line."""
    # Only this command looks without a session.
    from pegboard_definitions import plugin_folders
    from pegboard_skill.discovery import discover

    found, plugins = discover(settings, os.environ), plugin_folders(settings)
    wrong = [*found.problems, *(words for plugin in plugins for words in plugin.problems)]
    fine = [f"The plugin {plugin.name} is used from {plugin.root}." for plugin in plugins if not plugin.problems]
    return [*wrong, *(Fine(words) for words in (*fine, *found.quiet))]


def _skills(ctx: Context) -> Skills | None:
    skills = ctx.services.others.get(SERVICE)
    if skills is None:
        return None
    from pegboard_skill.skills import Skills  # Only a session has them.

    return skills if isinstance(skills, Skills) else None
