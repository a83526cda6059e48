"""User command hooks: scripts that inspect calls, prompts and sessions, and can change what happens."""

from pegboard_hooks.compaction import after_compact, before_compact
from pegboard_hooks.hooks import (
    after_call,
    after_failure,
    ask_user,
    before_call,
    before_stop,
    check_tools,
    diagnose,
    end_session,
    runs_user_commands,
    start_session,
    submit_prompt,
)

__all__ = [
    "after_call",
    "after_compact",
    "after_failure",
    "ask_user",
    "before_call",
    "before_compact",
    "before_stop",
    "check_tools",
    "diagnose",
    "end_session",
    "runs_user_commands",
    "start_session",
    "submit_prompt",
]
