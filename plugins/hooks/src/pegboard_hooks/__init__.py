"""User command hooks: scripts that look at calls, prompts and sessions, and have a say in them."""

from pegboard_hooks.hooks import (
    after_call,
    after_failure,
    ask_user,
    before_call,
    before_stop,
    diagnose,
    end_session,
    runs_user_commands,
    start_session,
    submit_prompt,
)

__all__ = [
    "after_call",
    "after_failure",
    "ask_user",
    "before_call",
    "before_stop",
    "diagnose",
    "end_session",
    "runs_user_commands",
    "start_session",
    "submit_prompt",
]
