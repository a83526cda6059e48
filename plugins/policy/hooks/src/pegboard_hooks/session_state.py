"""What the protocol needs to remember of one session."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pegboard_hooks.transcript_view import TranscriptView

if TYPE_CHECKING:
    from pegboard import Context

SERVICE = "hooks"
"""The name under which a session keeps its state."""


@dataclass(slots=True)
class SessionState:
    """The state of a session, which its sub-agents share."""

    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    """For calls outside a session, which have no id of their own."""
    transcript: Path | None = None
    """The file with the conversation in Pegboard's own format."""
    prompt_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    sent_back: set[str] = field(default_factory=set)
    """The agents that a Stop hook has already sent back to work on this prompt."""
    halted: str = ""
    """Why nothing may happen in this session: the reason that a hook gave when it started."""
    cwd: Path | None = None
    """The working directory that handlers were last told about."""
    views: dict[str, TranscriptView] = field(default_factory=dict)
    """The conversation of each agent, as scripts expect it."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables for commands, which handlers have written to `CLAUDE_ENV_FILE`."""


def state_of(ctx: Context) -> SessionState:
    """The state of the session that a context belongs to."""
    found = ctx.services.others.get(SERVICE)
    if isinstance(found, SessionState):
        return found
    return _ALONE.setdefault(ctx.session_id, SessionState())


_ALONE: dict[str, SessionState] = {}
"""States of calls that no session makes."""
