"""The REPL tool: an interpreter that stays alive between calls."""

from pegboard_repl.plugin import end_session, register_session_services, register_tools

WARM_UP = ("pegboard_repl.repl", "pegboard_repl.session_interpreters")
__all__ = ["end_session", "register_session_services", "register_tools"]
