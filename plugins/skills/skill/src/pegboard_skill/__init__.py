"""The Skill tool, and slash commands from files. `ctx.service("skills")` are the skills of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_skill.plugin import (
    add_reminders,
    after_call,
    after_compact,
    ask_user,
    check_permission,
    diagnose,
    register_session_services,
    register_tools,
    system_prompt_parts,
)

if TYPE_CHECKING:
    from pegboard_skill.skill import Skill, SkillInput, SkillOutput
    from pegboard_skill.skills import Skills

WARM_UP = ("pegboard_skill.skill",)
__all__ = [
    "Skill",
    "SkillInput",
    "SkillOutput",
    "Skills",
    "add_reminders",
    "after_call",
    "after_compact",
    "ask_user",
    "check_permission",
    "diagnose",
    "register_session_services",
    "register_tools",
    "system_prompt_parts",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The tool loads on use: every session asks this package for skills, and few use one.
    from pegboard_skill import skill, skills

    return skills.Skills if name == "Skills" else getattr(skill, name)
