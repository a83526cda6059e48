"""The Skill tool, and slash commands from files. `ctx.service("skills")` are the skills of a session."""

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
from pegboard_skill.skill import Skill, SkillInput, SkillOutput
from pegboard_skill.skills import Skills

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
