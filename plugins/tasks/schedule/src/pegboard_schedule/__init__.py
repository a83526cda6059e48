"""Timers: Sleep, and prompts that come back at the times of a cron expression."""

from pegboard_schedule.plugin import add_reminders, after_compact, register_session_services, register_tools

__all__ = ["add_reminders", "after_compact", "register_session_services", "register_tools"]
