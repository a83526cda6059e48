"""Memory files: what a person or a project has written down for every session.

`ctx.service("memory")` is the `Memory` of a session; `add_memory` keeps a line for later ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_memory.plugin import add_reminders, after_call, after_compact, register_session_services

if TYPE_CHECKING:
    from pegboard_memory.memory import Memory
    from pegboard_memory.memory_line import add_memory

__all__ = ["Memory", "add_memory", "add_reminders", "after_call", "after_compact", "register_session_services"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pegboard_memory import memory  # Every board loads the hooks, and only a session has a memory.

    return getattr(memory, name)
