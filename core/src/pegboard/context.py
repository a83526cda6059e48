"""What a call knows about where it runs. Frozen: a tool changes the world around it by returning a `Change`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from pegboard.calls import JSON, Decision, Result, unfrozen
from pegboard.errors import ToolError
from pegboard.settings import Settings

if TYPE_CHECKING:
    from pegboard_files import Files
    from pegboard_processes import Background, Processes


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


class Model(Protocol):
    """Small questions to a model, for tools that need one."""

    async def complete(self, prompt: str, *, system: str = "", model: str | None = None, max_tokens: int = 1024) -> str:
        """One answer to one prompt, as text."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """The host's services; None where this host has none."""

    files: Files | None = None
    processes: Processes | None = None
    background: Background | None = None
    model: Model | None = None
    others: Mapping[str, object] = field(default_factory=dict)
    """Services of third parties, by name."""

    @classmethod
    def of(cls, offered: Mapping[str, Any]) -> Services:
        """The services under their names."""
        known = {name: offered[name] for name in offered if name in KNOWN_SERVICES}
        return cls(**known, others={name: offered[name] for name in offered if name not in KNOWN_SERVICES})


KNOWN_SERVICES = ("files", "processes", "background", "model")
"""Services with an attribute of their own in a context; all others are reached with `ctx.service(name)`."""

Service = TypeVar("Service")
Gate: TypeAlias = Callable[[str, JSON, "Context"], Awaitable[Result]]
PathFilter: TypeAlias = Callable[[str], bool]


class Policy(Protocol):
    """What a context asks of its board."""

    def has_mode(self, name: str) -> bool:
        """Whether this is a permission mode."""
        ...

    def path_filter(self, tool: Any, root: str, ctx: Context) -> PathFilter | None:
        """Which files a permitted search may show."""
        ...


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
    loaded_tools: tuple[str, ...] = ()
    """Deferred tools that were fetched, in the order of fetching."""
    services: Services = field(default_factory=Services, repr=False)
    on_progress: Callable[[Progress], None] | None = field(default=None, repr=False)
    gate: Gate | None = field(default=None, repr=False)
    policy: Policy | None = field(default=None, repr=False, compare=False)
    """What the board decides for its calls; None in a context that no board has made."""
    approved_paths: Mapping[str, bool] | None = field(default=None, repr=False)
    """The real paths that the decision on this call was about, and whether each may be changed."""
    decision: Decision | None = field(default=None, repr=False)
    """Why this call runs: a tool may limit itself to what it was allowed for. None where the call was not judged."""
    call_id: str = ""
    """The id of the call that this context was made for; empty outside a call."""

    def resolve(self, path: str | os.PathLike[str]) -> Path:
        """The absolute path that is meant: `~` expanded, a relative path taken from the working directory.

        Links and `..` are left to the kernel: taking `..` away by text means another file behind a link.
        """
        text = os.fspath(path)
        if text == "~" or text.startswith("~/"):
            text = os.path.expanduser(text)
        return self.cwd / text

    def for_call(self, call_id: str, on_progress: Callable[[Progress], None] | None) -> Context:
        """The same context for one call. Written out because `replace` takes twenty times as long."""
        made = _UnfrozenContext()
        made.cwd, made.roots, made.settings, made.services = self.cwd, self.roots, self.settings, self.services
        made.mode, made.agent, made.session_id, made.call_id = self.mode, self.agent, self.session_id, call_id
        made.loaded_tools, made.on_progress = self.loaded_tools, on_progress
        made.gate, made.policy, made.decision = self.gate, self.policy, self.decision
        made.approved_paths, made.__class__ = self.approved_paths, Context
        return made  # type: ignore[no-any-return]

    def permit(self, decision: Decision, paths: Mapping[str, bool] | None) -> None:
        """Note that the call is allowed, and with it these real paths.

        Only the board does this, to the context that it has made for one call: a second copy would cost as much again.
        """
        object.__setattr__(self, "decision", decision)
        object.__setattr__(self, "approved_paths", paths)

    def report(self, message: str, **data: Any) -> None:
        """Show a sign of life: it reaches the user's screen and resets the idle timer."""
        if self.on_progress:
            self.on_progress(Progress(message, data))

    async def call(self, name: str, input: JSON) -> Result:
        """Call another tool through the whole pipeline: it is validated and permitted like any other call."""
        if self.gate is None:
            raise ToolError("This host does not let a tool call another tool.", code="unsupported")
        return await self.gate(name, input, self)

    def path_filter(self, tool: Any, root: str | os.PathLike[str]) -> PathFilter | None:
        """Which files a permitted search of `root` may show: a test of absolute paths, or None for all.

        For tools that meet thousands of files in one call. Rules withhold here what a call of its own would not get.
        """
        return self.policy.path_filter(tool, os.fspath(root), self) if self.policy else None

    def after(self, change: Change | None) -> Context:
        """The context that the next call sees."""
        if change is None:
            return self
        if change.mode is not None and self.policy is not None and not self.policy.has_mode(change.mode):
            raise ValueError(f"{change.mode!r} is not a permission mode.")
        return replace(
            self,
            cwd=change.cwd or self.cwd,
            mode=change.mode or self.mode,
            loaded_tools=tuple(dict.fromkeys((*self.loaded_tools, *change.loaded_tools))),
        )

    def service(self, name: str) -> Any:
        """A service that a plugin or the application brings under this name; a `ToolError` where there is none."""
        found = getattr(self.services, name) if name in KNOWN_SERVICES else self.services.others.get(name)
        return _present(found, name)

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


_UnfrozenContext = unfrozen(Context)


def _present(service: Service | None, what: str) -> Service:
    if service is None:
        raise ToolError(f"This host does not provide {what} to tools.", code="unsupported")
    return service
