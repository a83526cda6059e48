"""Runs without a person: they go on until the model calls `task_complete`."""

from pegboard_complete.plugin import after_turn, before_stop, register_session_services, register_tools, submit_prompt

__all__ = ["after_turn", "before_stop", "register_session_services", "register_tools", "submit_prompt"]
