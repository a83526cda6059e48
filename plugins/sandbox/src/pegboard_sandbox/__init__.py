"""A sandbox around every process that a tool or a user hook starts."""

from pegboard_sandbox.wrapping import diagnose, end_session, observe, wrap_process

__all__ = ["diagnose", "end_session", "observe", "wrap_process"]
