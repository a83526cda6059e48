"""What a plugin may bring besides tools: sources of tools, providers, agents; and what its hooks hand back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pegboard.calls import JSON, Call, Decision
from pegboard.contract import Tool


class ToolSource(Protocol):
    """A place tools come from at run time, such as an MCP server."""

    name: str

    @property
    def version(self) -> Hashable:
        """Changes whenever `tools()` would answer differently."""
        ...

    def tools(self) -> Sequence[Tool[Any, Any]]:
        """The tools as they are now. An error keeps the last good ones."""
        ...


class Provider(Protocol):
    """A model behind a wire. Requests and events are plain dicts in the shape of the Messages API."""

    name: str

    def stream(self, request: JSON) -> AsyncGenerator[JSON, None]:
        """The events of one answer, in order. What goes wrong is a `ProviderError`; asking again is not its job."""
        ...


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


@dataclass(frozen=True, slots=True)
class Profile:
    """The model that is about to be asked, for hooks that word definitions differently for some."""

    model: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """What a `before_call` hook wants: another input, a say in the decision, a remark for the model."""

    input: JSON | None = None
    decision: Decision | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class After:
    """What an `after_call` hook wants: another value (set `replaces`), or a remark for the model."""

    value: Any = None
    replaces: bool = False
    context: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A call that somebody has to approve, as it will run."""

    call: Call
    decision: Decision
    description: str
    input: JSON = field(default_factory=dict)
    preview: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `kind` is a participle such as `call_started`; `data` is JSON-like."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)
