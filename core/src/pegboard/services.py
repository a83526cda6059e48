"""What the core itself says about services. The interface of each service lives with its library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pegboard_processes import Starter


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process that is about to start, as `wrap_process` hooks see and change it."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables on top of the host's scrubbed environment. Hooks see, and may change, the whole environment here."""
    writable: tuple[Path, ...] = ()
    """Folders the process may write to; a sandbox refuses the rest."""
    network: bool = True
    stdin: bytes | None = field(default=None, repr=False)
    """What the process reads; None is an empty input."""
    timeout: float | None = None
    """Seconds until the whole tree is ended."""
    max_output_bytes: int = 5_000_000_000
    """A process that writes more is ended with all it started."""
    keep_output: bool = True
    """False when the callbacks are all that is wanted: no file is written."""
    unsandboxed: bool = False
    """Whether it asks to run outside of any sandbox; the sandbox decides."""
    max_memory_bytes: int | None = None
    """What the process and all it starts may use together; whoever asks for more is ended by the kernel."""
    opens: tuple[Path, ...] = ()
    """Protected folders that the tool itself has to change, such as the worktrees of git. No model chooses these."""
    starter: Starter | None = field(default=None, repr=False)
    """Who starts it, where the host does not do so itself. Hooks leave it alone."""
    confined: bool = False
    """Whether its starter holds it to reading, which is at least what a sandbox would hold it to."""
    on_end: Callable[[], None] | None = field(default=None, repr=False)
    """Called once, when the process has ended or could not be started: for what a hook has set up around it.

    A hook that finds one here calls it from its own. It must not wait for anything."""


class Model(Protocol):
    """Small questions to a model, for tools that need one."""

    async def complete(self, prompt: str, *, system: str = "", model: str | None = None, max_tokens: int = 1024) -> str:
        """One answer to one prompt, as text."""
        ...
