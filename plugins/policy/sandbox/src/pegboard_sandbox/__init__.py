"""A sandbox around every process that a tool or a user hook starts."""

from pegboard_sandbox.auto_allow import check_permission
from pegboard_sandbox.hooks import end_session, wrap_process
from pegboard_sandbox.mechanism import diagnose

__all__ = ["check_permission", "diagnose", "end_session", "wrap_process"]
