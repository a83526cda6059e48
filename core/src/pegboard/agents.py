"""Sub-agents as a tool sees them: a kind of agent, a wish for one, and what became of it. Interfaces and plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from pegboard.services import Task


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """A kind of sub-agent: its instructions and what it may use."""

    name: str
    description: str
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    permission_mode: str | None = None
    max_turns: int | None = None
    source: str = ""
    background: bool = False
    """Whether it runs in the background unless a call says otherwise."""
    isolation: str = ""
    """`worktree` for an agent that works in a checkout of its own."""
    color: str = ""


@dataclass(frozen=True, slots=True)
class ChildRequest:
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
class ChildOutcome:
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
class ChildState:
    """A sub-agent of this session, for listings."""

    id: str
    kind: str
    name: str
    state: str
    """`ready`, `running`, `done`, `failed`, `stopped` by a person, or `interrupted` with its call or its session."""
    workspace: Path | None = None
    """The folder that was made for it."""


Listener = Callable[[str, Mapping[str, Any]], None]


class Child(Protocol):
    """A sub-agent that is ready to run. It counts as one of the running agents inside its `with` block."""

    @property
    def id(self) -> str:
        """Its name for machines."""
        ...

    @property
    def kind(self) -> str:
        """The name of its definition."""
        ...

    @property
    def model(self) -> str:
        """The model it asks."""
        ...

    @property
    def state(self) -> str:
        """How far it is, in the words of `ChildState`."""
        ...

    @property
    def workspace(self) -> Path | None:
        """The folder that was made for its last run, whether or not it is still there."""
        ...

    @property
    def warnings(self) -> Sequence[str]:
        """What is not as it was asked for, as sentences."""
        ...

    async def run(
        self,
        prompt: str,
        *,
        workspace: Path | None = None,
        seconds: float | None = None,
        on_event: Listener | None = None,
        task: Task | None = None,
    ) -> ChildOutcome:
        """Answer a prompt; a second run goes on with the conversation of the first.

        After `seconds` it is stopped, and what exists is handed back. A `workspace` is a folder made for the agent: its
        working directory, and the place its rules start from. The `task` is the work in the background that this run
        is, if any.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Agents(Protocol):
    """Starts sub-agents of the conversation that a call belongs to."""

    def registered(self) -> Mapping[str, AgentDefinition]:
        """The kinds of agents that plugins bring, by name."""
        ...

    def tools(self) -> Sequence[str]:
        """The names of the tools that the calling agent itself may use."""
        ...

    def children(self) -> Sequence[ChildState]:
        """All sub-agents of the session, oldest first."""
        ...

    def prepare(self, request: ChildRequest) -> Child:
        """A new agent, or a `ToolError` that says why there is none. Nothing runs yet."""
        ...

    def resume(self, wanted: str) -> Child:
        """An agent that the calling one or its agents have started, by id or name, with its history, tools and model.

        It must have ended, if need be in an earlier process of this session.
        """
        ...

    def announce(self, words: str) -> None:
        """Tell the model something with the next message, once: that work in the background has ended."""
        ...
