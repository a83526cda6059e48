"""What a session may be told besides its board and its provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from pegboard import JSON, Context
from pegboard_session.agents import AgentDefinition
from pegboard_session.retries import Retries
from pegboard_session.transcript import Transcript
from pegboard_session.usage import Budget, SessionUsage

if TYPE_CHECKING:
    from pegboard_session.loop import Session


class SessionOptions(TypedDict, total=False):
    """The options of `Session`."""

    model: str
    """The model to ask, by its name or an alias."""
    system: Sequence[str]
    """Instructions in place of those that a plugin brings."""
    ctx: Context | None
    """Where the session works: folder, mode, agent. Unless set, the board's context."""
    max_turns: int
    """How many times the model may be asked for one prompt; 200 unless set."""
    max_tokens: int | None
    """How long one answer may be; unless set, what the settings say."""
    options: Mapping[str, Any] | None
    """Options that go to the provider as they are."""
    transcript: Transcript | None
    """Where the conversation is written down."""
    retries: Retries | None
    """How often a failed request is repeated; unless set, what the settings say."""
    session_id: str
    """The id of the session; a new one unless set."""
    parent: Session | None
    """The session that starts this one for a sub-agent: the two share questions, services and costs."""
    usage: SessionUsage | None
    """Where tokens and costs are added up. A sub-agent has its own."""
    budget: Budget | None
    """What may be spent; unless set, what the settings say. A sub-agent has its own."""
    definition: AgentDefinition | None
    """Which agent the session is, if it is one."""
    output_schema: JSON | None
    """The JSON Schema that final answers follow."""
