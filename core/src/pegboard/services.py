"""What a tool may ask of its host. Interfaces only: the host brings the objects, a tool reaches them through `ctx`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileState:
    """What this conversation knows about a file: enough to tell whether it changed and how to write it back."""

    digest: str
    size: int
    mtime_ns: int
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False
    complete: bool = True
    """False when only part of the file was shown: such a view never entitles to overwrite."""
    source: str = "read"


class Files(Protocol):
    """One shared memory of files for Read, Edit, Write and shell viewers, and the one safe way to write."""

    def known(self, path: Path) -> FileState | None:
        """What the conversation last saw of this file, or None."""

    def note(self, path: Path, state: FileState) -> None:
        """Remember what was just shown or written."""

    def forget(self, path: Path) -> None:
        """Somebody else may have changed this file."""

    def write(self, path: Path, data: bytes, *, expected_digest: str | None = None) -> FileState:
        """Replace a file so that at every moment it is either the old or the new bytes.

        With `expected_digest` the write is refused as `stale` when the file is no longer what was read.
        """

    def fork(self) -> Files:
        """A copy for a sub-agent: it knows what the parent knew and learns on its own."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A process that is about to start, as `wrap_process` hooks see and change it."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    writable: tuple[Path, ...] = ()
    """Folders the process may write to; a sandbox refuses the rest."""
    network: bool = True
    stdin: bytes | None = field(default=None, repr=False)
    timeout: float | None = None
    max_output_bytes: int = 5_000_000_000


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended."""

    code: int | None
    signal: str = ""
    timed_out: bool = False
    output: Path | None = None
    """Standard output and error in the order in which they were written."""
    output_bytes: int = 0


class Process(Protocol):
    """A running process and everything it started."""

    @property
    def pid(self) -> int:
        """The id of the process; it leads its own group."""

    async def wait(self) -> ProcessExit:
        """Wait until the process itself has ended, even if a grandchild still holds its output."""

    async def kill(self) -> None:
        """End the process and all that it started; returns when none is left."""


class Processes(Protocol):
    """Starts processes in their own group, with a scrubbed environment and capped output."""

    async def start(self, spec: ProcessSpec, *, on_output: Callable[[bytes], None] | None = None) -> Process:
        """Start a process after every `wrap_process` hook has had its say."""

    async def run(self, spec: ProcessSpec, *, on_output: Callable[[bytes], None] | None = None) -> ProcessExit:
        """Start, wait and clean up; cancelling ends the whole tree."""


@dataclass(frozen=True, slots=True)
class Task:
    """Work that goes on after the call that started it."""

    id: str
    name: str
    state: str
    output: Path | None = None


class Background(Protocol):
    """Keeps what may outlive a call: commands and agents in the background."""

    def start(self, name: str, work: Callable[[], Awaitable[object]], *, output: Path | None = None) -> Task:
        """Start work and return at once."""

    def tasks(self) -> Sequence[Task]:
        """All work of this session, newest last."""

    def get(self, task_id: str) -> Task | None:
        """One piece of work by its id."""

    async def stop(self, task_id: str) -> Task:
        """Cancel the work and wait for it to end."""


class Model(Protocol):
    """Small questions to a model, for tools that need one."""

    async def complete(self, prompt: str, *, system: str = "", model: str | None = None, max_tokens: int = 1024) -> str:
        """One answer to one prompt, as text."""
