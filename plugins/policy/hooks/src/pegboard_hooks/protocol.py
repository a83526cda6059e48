"""The words of the protocol: its events, which of them exist here, and how long a handler may take at each."""

from __future__ import annotations

TOOL_EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PermissionDenied")
SESSION_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PostToolBatch", "Notification", "CwdChanged"),
    *("SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Stop", "StopFailure", "SessionEnd"),
)
ANNOUNCED = (
    *("UserPromptExpansion", "InstructionsLoaded", "ConfigChange", "TaskCreated", "TaskCompleted"),
    *("WorktreeCreate", "WorktreeRemove", "Elicitation", "ElicitationResult"),
)
"""Events that other plugins announce."""
EVENTS = (*TOOL_EVENTS, *SESSION_EVENTS, *ANNOUNCED)
NOT_FIRED = {
    "Setup": "there is no set-up run",
    "MessageDisplay": "messages are shown unchanged",
    "TeammateIdle": "there are no teams of agents",
    "DirectoryAdded": "working directories are given when a session starts",
    "FileChanged": "files are not watched",
}
"""Events of the protocol that Pegboard does not fire, and why."""

WITHOUT_MATCHER = (
    *("UserPromptSubmit", "Stop", "PostToolBatch", "CwdChanged"),
    *("TaskCreated", "TaskCompleted", "WorktreeCreate", "WorktreeRemove"),
)
PREVENTABLE = (
    "UserPromptExpansion",
    "TaskCreated",
    "TaskCompleted",
    "WorktreeCreate",
    "Elicitation",
    "ElicitationResult",
)
"""Announced events that a handler can prevent."""
GUARDS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit", "PreCompact", *PREVENTABLE)
"""Events at which `onError` can prevent something."""

JUDGED = (
    *("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("UserPromptSubmit", "UserPromptExpansion", "Stop", "SubagentStop", "TaskCreated", "TaskCompleted"),
)
"""Events at which a handler may be a question to a model."""

TEXT_IS_CONTEXT = (
    *("SessionStart", "SubagentStart", "UserPromptSubmit", "UserPromptExpansion", "PreCompact"),
    "WorktreeCreate",
)
"""Events at which plain text on standard output is for the model; that of WorktreeCreate is the path."""

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
