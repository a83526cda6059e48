"""A sandbox around every process that a tool or a user hook starts."""

from pegboard_sandbox.allowing import check_permission
from pegboard_sandbox.choosing import diagnose
from pegboard_sandbox.wrapping import end_session, wrap_process

__all__ = ["check_permission", "diagnose", "end_session", "wrap_process"]
