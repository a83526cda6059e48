"""Sub-agents as a tool sees them: a wish for one, what became of it, and the service that starts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard import Context, ToolError
from pegboard_session import AgentDefinition

if TYPE_CHECKING:
    from pegboard_agent.subagents import SubAgents

SERVICE = "agents"
"""The name of the service: `ctx.service("agents")`."""


@dataclass(frozen=True, slots=True)
class SubAgentRequest:
    """A wish for a sub-agent. Whatever is asked for, it never gets more than its parent has."""

    definition: AgentDefinition
    name: str = ""
    """A name that is unique in the session; empty for none."""
    description: str = ""
    model: str | None = None
    """The model to ask; None for the parent's."""
    tools: tuple[str, ...] | None = None
    """Narrows the tools of the definition further."""
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    cwd: Path | None = None
    """A folder inside the parent's working directories."""


@dataclass(frozen=True, slots=True)
class SubAgentOutcome:
    """How a sub-agent ended, with the totals of its whole run."""

    text: str
    stopped_by: str
    """As for a session, or `timeout`."""
    turns: int
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Requests, tokens by kind, costs and tools, sub-agents of its own included."""
    tool_calls: int = 0
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class SubAgentState:
    """A sub-agent of a session, for listings."""

    id: str
    kind: str
    name: str
    state: str
    """`ready`, `running`, `done`, `failed`, `stopped` by a person, or `interrupted` with its call or its session."""
    workspace: Path | None = None
    """The folder that was made for it."""


Listener = Callable[[str, Mapping[str, Any]], None]


def find_agents_service(ctx: Context) -> SubAgents | None:
    """The service that starts sub-agents of the conversation of a call; None outside one."""
    found: SubAgents | None = ctx.services.others.get(SERVICE)  # type: ignore[assignment]
    return found


def agents_service(ctx: Context) -> SubAgents:
    """The same, or a `ToolError` where there is none."""
    found = find_agents_service(ctx)
    if found is None:
        raise ToolError("This host does not support sub-agents.", code="unsupported")
    return found
