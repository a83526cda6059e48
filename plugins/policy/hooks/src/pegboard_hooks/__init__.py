"""User hooks: commands and questions that inspect calls, prompts and sessions, and can change what happens."""

from pegboard_hooks.agent_events import before_agent_stop, start_agent
from pegboard_hooks.announced_events import hear_event
from pegboard_hooks.compaction import after_compact, before_compact
from pegboard_hooks.hooks import (
    after_call,
    after_failure,
    ask_user,
    before_call,
    check_tools,
    diagnose,
    runs_user_commands,
)
from pegboard_hooks.session_events import (
    after_turn,
    before_stop,
    end_session,
    prompt_failed,
    register_session_services,
    start_session,
    submit_prompt,
)

__all__ = [
    "after_call",
    "after_compact",
    "after_failure",
    "after_turn",
    "ask_user",
    "before_agent_stop",
    "before_call",
    "before_compact",
    "before_stop",
    "check_tools",
    "diagnose",
    "end_session",
    "hear_event",
    "prompt_failed",
    "register_session_services",
    "runs_user_commands",
    "start_agent",
    "start_session",
    "submit_prompt",
]
