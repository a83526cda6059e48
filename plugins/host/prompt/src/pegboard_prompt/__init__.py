"""The system prompt of a session: instructions, environment, and reminders of what changes."""

from pegboard_prompt.plugin import add_reminders, after_compact, register_session_services, system_prompt_parts

__all__ = ["add_reminders", "after_compact", "register_session_services", "system_prompt_parts"]
