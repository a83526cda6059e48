"""Notes about a project that survive sessions. `ctx.service("notes")` is the `NoteStore` of the project."""

from pegboard_notes.plugin import (
    add_reminders,
    after_compact,
    register_services,
    register_session_services,
    register_tools,
    system_prompt_parts,
)

WARM_UP = ("pegboard_notes.memory",)
__all__ = [
    "add_reminders",
    "after_compact",
    "register_services",
    "register_session_services",
    "register_tools",
    "system_prompt_parts",
]
