"""AskUserQuestion, EnterPlanMode, ExitPlanMode and Config."""

from pegboard_dialog.plugin import add_reminders, after_compact, register_session_services, register_tools

WARM_UP = ("pegboard_dialog.ask_user_question", "pegboard_dialog.plan_tools", "pegboard_dialog.config")
__all__ = ["add_reminders", "after_compact", "register_session_services", "register_tools"]
