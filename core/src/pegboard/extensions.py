"""What a plugin may bring besides tools: sources of tools, providers, agents; and what its hooks hand back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pegboard.agents import AgentDefinition as AgentDefinition
from pegboard.calls import JSON, Call, Decision
from pegboard.contract import Tool
from pegboard.inputs import Input


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
    """A model behind a wire. Requests and events are plain dicts in the shape of the Messages API.

    Two attributes are looked for and may be missing: `prices`, in the shape of the setting of that name, which beats
    it; and `for_agent(name, kind)`, the provider that a sub-agent asks.
    """

    name: str

    def stream(self, request: JSON) -> AsyncGenerator[JSON, None]:
        """The events of one answer, in order. What goes wrong is a `ProviderError`; asking again is not its job."""
        ...


class Fine(str):
    """An answer of a `diagnose` hook that is no finding: what is there, and how it is set up."""

    __slots__ = ()


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
    stop: str = ""
    """Why the model must not go on after this turn. The call itself is stopped by a decision."""


@dataclass(frozen=True, slots=True)
class After:
    """What an `after_call` hook wants: another value (set `replaces`), a remark for the model, an end (`stop`)."""

    value: Any = None
    replaces: bool = False
    context: str = ""
    stop: str = ""
    """Why the model must not go on after this turn."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question that is more than yes or no: another input to run with, or an end of everything."""

    decision: Decision
    input: JSON | None = None
    """The whole input to use instead. It is validated and judged again: an answer never lifts a rule."""
    stop: str = ""


@dataclass(frozen=True, slots=True)
class Prompted:
    """What a `submit_prompt` hook wants: that the model never sees the prompt (`block`), or more for it to read."""

    block: str = ""
    """Why the prompt is not taken, for the person who wrote it."""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A call that somebody has to approve, as it will run."""

    call: Call
    decision: Decision
    description: str
    input: JSON = field(default_factory=dict)
    preview: str | None = None
    tool: Tool[Any, Any] | None = field(default=None, repr=False)
    args: Input | None = field(default=None, repr=False)
    digest: str = ""
    """The hash of `input`. An approval holds for this input only: the call does not run with another."""
    rules: tuple[str, ...] = ()
    """Rules that would allow this very call and nothing more; empty where none would help."""
    agent: str = ""
    """The sub-agent that wants it, in words; empty for the main agent."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. `kind` is a participle such as `call_started`; `data` is JSON-like."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)
