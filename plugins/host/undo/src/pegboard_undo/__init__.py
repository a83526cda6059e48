"""Undo: note what happens to files, and take a checkpoint before each command that may change some."""

from __future__ import annotations

from pegboard_undo.plugin import (
    add_reminders,
    check_permission,
    end_session,
    register_session_services,
    wrap_execute,
    wrap_process,
)

__all__ = [
    "add_reminders",
    "check_permission",
    "end_session",
    "register_session_services",
    "wrap_execute",
    "wrap_process",
]
