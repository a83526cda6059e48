"""The words of the protocol: its events, which of them exist here, and how long a handler may take at each."""

from __future__ import annotations

TOOL_EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PermissionDenied")
SESSION_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PostToolBatch", "Notification", "CwdChanged"),
    *("SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Stop", "StopFailure", "SessionEnd"),
)
EVENTS = (*TOOL_EVENTS, *SESSION_EVENTS)
NOT_FIRED = {
    "Setup": "there is no set-up run",
    "UserPromptExpansion": "a command becomes a prompt, which UserPromptSubmit handles",
    "MessageDisplay": "messages are shown unchanged",
    "TaskCreated": "there is no list of tasks",
    "TaskCompleted": "there is no list of tasks",
    "TeammateIdle": "there are no teams of agents",
    "ConfigChange": "settings are read once, when a session starts",
    "DirectoryAdded": "working directories are given when a session starts",
    "FileChanged": "files are not watched",
    "InstructionsLoaded": "memory files are shown without an event",
    "WorktreeCreate": "git makes the worktrees of agents",
    "WorktreeRemove": "git removes the worktrees of agents",
    "Elicitation": "questions from servers are not passed to hooks",
    "ElicitationResult": "questions from servers are not passed to hooks",
}
"""Events of the protocol that Pegboard does not fire, and why."""

WITHOUT_MATCHER = ("UserPromptSubmit", "Stop", "PostToolBatch", "CwdChanged")
GUARDS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit", "PreCompact")
"""Events at which `onError` can prevent something."""

JUDGED = (
    *("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("UserPromptSubmit", "Stop", "SubagentStop"),
)
"""Events at which a handler may be a question to a model."""

TEXT_IS_CONTEXT = ("SessionStart", "SubagentStart", "UserPromptSubmit", "PreCompact")
"""Events at which plain text on standard output is for the model."""

TIMEOUTS = {"command": 600.0, "http": 600.0, "mcp_tool": 600.0, "prompt": 30.0, "agent": 60.0}
"""Seconds that a handler of each type may take."""
SHORTER = {"UserPromptSubmit": 30.0, "SessionEnd": 1.5}
"""Events at which a person waits: without a `timeout`, a handler gets no more than this."""
LONGEST_FAREWELL = 60.0
"""The longest `timeout` that counts at SessionEnd."""


def timeout_of(kind: str, event: str, given: float | None) -> float:
    """How many seconds a handler may take."""
    if given is None:
        return min(TIMEOUTS[kind], SHORTER.get(event, TIMEOUTS[kind]))
    return min(given, LONGEST_FAREWELL) if event == "SessionEnd" else given
