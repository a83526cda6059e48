"""Use a skill: its text with all that it inserts, its files, what it allows; in the session or in a sub-agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pegboard import Context, ToolError
from pegboard_definitions import FaultError
from pegboard_skill.arguments import Arguments, first_number
from pegboard_skill.insertion import Insertion
from pegboard_skill.skill_file import Skill, read_body

if TYPE_CHECKING:
    from pegboard_session import Session

GENERAL = "general-purpose"
LONGEST = 100_000
"""How many characters of a skill the model is shown."""
MOST_FILES = 50


@dataclass(frozen=True, slots=True)
class Lent:
    """What a skill that runs in a sub-agent gives to it."""

    parent: Session
    skill: Skill


_lent: ContextVar[Lent | None] = ContextVar("the skill of the sub-agent that is about to start", default=None)


def lent_to(session: Session) -> Skill | None:
    """The skill that this session of a sub-agent was started for. Agents below it were not."""
    lent = _lent.get()
    return lent.skill if lent and session.parent is lent.parent else None


@contextmanager
def _lending(session: Session, skill: Skill) -> Iterator[None]:
    token = _lent.set(Lent(session, skill))
    try:
        yield
    finally:
        _lent.reset(token)


async def text_of(skill: Skill, given: str, ctx: Context) -> str:
    """What the model reads of a skill: its text, filled, and where its files are."""
    try:
        body = read_body(skill.path)
    except FaultError as fault:
        raise ToolError(f"{skill.what} cannot be used. {fault}", code="not_found") from None
    variables = {
        "CLAUDE_SKILL_DIR": skill.folder,
        "CLAUDE_PROJECT_DIR": ctx.settings.root,
        "CLAUDE_SESSION_ID": ctx.session_id,
        **dict(skill.variables),
    }
    first = first_number(body, is_command=skill.is_command)
    arguments = Arguments(given, skill.head.arguments, variables, first)
    text = (await Insertion(skill, arguments, ctx).fill(body)).strip()
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n(The rest is left out. Read {skill.path} for it.)"
    return text if skill.is_command else f"{_introduction(skill)}\n\n{text}"


def _introduction(skill: Skill) -> str:
    said = f"Instructions from the skill {skill.name}. Paths in them are relative to {skill.folder}."
    files = _files(skill.folder)
    return f"{said}\nFiles there: {', '.join(files)}" if files else said


def _files(folder: str) -> list[str]:
    """What else is in the folder of a skill, as far as it fits."""
    found: list[str] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        relative = os.path.relpath(here, folder)
        found += [os.path.normpath(os.path.join(relative, name)) for name in sorted(names) if name != "SKILL.md"]
        if len(found) > MOST_FILES:
            return [*found[:MOST_FILES], "…"]
    return found


async def run_in_agent(skill: Skill, text: str, session: Session, ctx: Context) -> str:
    """The report of a sub-agent that follows the skill: its own context, and what the skill allows, only there."""
    wish = {
        "description": f"skill {skill.name}",
        "prompt": text,
        "subagent_type": skill.head.agent or GENERAL,
        "model": skill.head.model if skill.trusted and skill.head.model else None,
        "run_in_background": True if skill.head.background and skill.trusted else None,
    }
    with _lending(session, skill):
        result = await ctx.call("Agent", {name: value for name, value in wish.items() if value is not None})
    if result.is_error:
        raise ToolError(f"{skill.what} runs in a sub-agent, which failed. {result.text}", code="internal")
    return result.text
