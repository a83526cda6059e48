"""The Monitor tool: a command whose lines become events for the model."""

from pegboard_monitor.plugin import after_compact, register_tools

__all__ = ["after_compact", "register_tools"]
