"""What a call knows about where it runs. Frozen: a tool changes the world around it by returning a `Change`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pegboard.agents import Agents
from pegboard.calls import JSON, Result
from pegboard.errors import ToolError
from pegboard.services import Background, Files, Model, Processes
from pegboard.settings.layers import Settings

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


@dataclass(frozen=True, slots=True)
class Change:
    """What a call changes in the session, as data: it can be logged, sent over a wire and applied again on resume."""

    cwd: Path | None = None
    mode: str | None = None
    loaded_tools: tuple[str, ...] = ()
    """Deferred tools that the model may call by name from now on."""


@dataclass(frozen=True, slots=True)
class Agent:
    """Who is calling: the main agent or one of its children."""

    id: str = "main"
    kind: str = "main"
    parent: str | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """A sign of life from a running call."""

    message: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Services:
    """The host's services; None where this host has none."""

    files: Files | None = None
    processes: Processes | None = None
    background: Background | None = None
    model: Model | None = None
    agents: Agents | None = None


Service = TypeVar("Service")
Gate: TypeAlias = "Callable[[str, JSON, Context], Awaitable[Result]]"


@dataclass(frozen=True, slots=True)
class Context:
    """Everything a tool may know and use besides its arguments."""

    cwd: Path
    settings: Settings = field(default_factory=Settings, repr=False)
    mode: str = "default"
    agent: Agent = Agent()
    session_id: str = ""
    roots: tuple[Path, ...] = ()
    """Working directories besides `cwd` that tools may use without asking."""
    loaded_tools: frozenset[str] = frozenset()
    services: Services = field(default_factory=Services, repr=False)
    on_progress: Callable[[Progress], None] | None = field(default=None, repr=False)
    gate: Gate | None = field(default=None, repr=False)
    judged: Mapping[str, bool] | None = field(default=None, repr=False)
    """The real paths that the decision on this call was about, and whether each may be changed. See host/beneath.py."""

    def resolve(self, path: str | os.PathLike[str]) -> Path:
        """The absolute path that is meant: `~` expanded, a relative path taken from the working directory.

        Links and `..` are left to the kernel: taking `..` away by text means another file behind a link.
        """
        text = os.fspath(path)
        if text == "~" or text.startswith("~/"):
            text = os.path.expanduser(text)
        return self.cwd / text

    def reporting_to(self, listener: Callable[[Progress], None]) -> Context:
        """The same context for a watched call. Written out because `replace` takes three times as long."""
        return Context(
            self.cwd,
            self.settings,
            self.mode,
            self.agent,
            self.session_id,
            self.roots,
            self.loaded_tools,
            self.services,
            listener,
            self.gate,
            self.judged,
        )

    def report(self, message: str, **data: Any) -> None:
        """Show a sign of life: it reaches the user's screen and resets the idle timer."""
        if self.on_progress:
            self.on_progress(Progress(message, data))

    async def call(self, name: str, input: JSON) -> Result:
        """Call another tool through the whole pipeline: it is validated and permitted like any other call."""
        if self.gate is None:
            raise ToolError("This host does not let a tool call another tool.", code="unsupported")
        return await self.gate(name, input, self)

    def after(self, change: Change | None) -> Context:
        """The context that the next call sees."""
        if change is None:
            return self
        if change.mode is not None and change.mode not in MODES:
            raise ValueError(f"{change.mode!r} is not a permission mode. Use one of {', '.join(MODES)}.")
        return replace(
            self,
            cwd=change.cwd or self.cwd,
            mode=change.mode or self.mode,
            loaded_tools=self.loaded_tools.union(change.loaded_tools),
        )

    @property
    def files(self) -> Files:
        """The shared file state and the safe way to write."""
        return _present(self.services.files, "files")

    @property
    def processes(self) -> Processes:
        """The one way to start a process."""
        return _present(self.services.processes, "processes")

    @property
    def background(self) -> Background:
        """Work that may outlive the call."""
        return _present(self.services.background, "background work")

    @property
    def model(self) -> Model:
        """Small questions to a model."""
        return _present(self.services.model, "a model")

    @property
    def agents(self) -> Agents:
        """Sub-agents of this conversation."""
        return _present(self.services.agents, "sub-agents")


def _present(service: Service | None, what: str) -> Service:
    if service is None:
        raise ToolError(f"This host offers no {what} to tools.", code="unsupported")
    return service
