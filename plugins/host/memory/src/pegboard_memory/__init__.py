"""Memory files: what a person or a project has written down for every session.

`ctx.service("memory")` is the `Memory` of a session; `add_memory` keeps a line for later ones.
"""

from pegboard_memory.memory import Memory
from pegboard_memory.memory_line import add_memory
from pegboard_memory.plugin import add_reminders, after_call, after_compact, register_session_services

__all__ = ["Memory", "add_memory", "add_reminders", "after_call", "after_compact", "register_session_services"]
