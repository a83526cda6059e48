"""What a tool may ask of its host. Interfaces only: the host brings the objects, a tool reaches them through `ctx`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileState:
    """What this conversation knows about a file: enough to tell whether it changed and how to write it back.

    Plain data: `dataclasses.asdict` and `FileState(**data)` carry it through a transcript.
    """

    digest: str
    """The SHA-256 of the bytes; empty for a file too large to be read whole."""
    size: int
    mtime_ns: int
    encoding: str = "utf-8"
    newline: str = "\n"
    """How most lines end: a line feed, a carriage return with one, or a lone carriage return."""
    bom: bool = False
    complete: bool = True
    """False when only part of the file was shown: such a view never entitles to overwrite."""
    source: str = "read"
    mixed: bool = False
    """Whether lines end in more than one way."""
    ranges: tuple[tuple[int, int], ...] = ()
    """The lines that were shown, first and last, when not all were."""
    total_lines: int | None = None
    ctime_ns: int = 0
    settled: bool = False
    """Whether the file was old enough, when it was looked at, for its times to tell a later change."""


@dataclass(frozen=True, slots=True)
class Undo:
    """How to take a write back, for a plugin that keeps checkpoints."""

    path: Path
    before: str
    """The digest of the bytes that were there; empty when there was no file."""
    after: str
    stored: Path | None
    """The file with the earlier bytes; None when there were none, or no place to keep them."""
    mode: int
    time_ns: int


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did."""

    state: FileState
    undo: Undo
    notes: tuple[str, ...] = ()
    """What the caller should know, such as a file with several names that was written in place."""


@dataclass(frozen=True, slots=True)
class FileEvent:
    """A file was read or written through the file service."""

    kind: str
    """`read` or `written`."""
    path: Path
    state: FileState
    undo: Undo | None = None


FileListener = Callable[[FileEvent], None]


class Files(Protocol):
    """One shared memory of files for Read, Edit, Write and shell viewers, and the one safe way to write."""

    def known(self, path: Path) -> FileState | None:
        """What the conversation last saw of this file, or None."""
        ...

    def note(self, path: Path, state: FileState, view: str = "") -> None:
        """Remember what was just shown; parts of the same content add up, and all of them are the whole.

        A `view` names exactly what went into the conversation, so that `shows_again` can tell.
        """
        ...

    def forget(self, path: Path) -> None:
        """Somebody else may have changed this file."""
        ...

    def is_current(self, path: Path, state: FileState) -> bool:
        """Whether the file still has this content: its times only save the reading, its bytes decide."""
        ...

    def lock(self, path: Path) -> AbstractContextManager[None]:
        """Keep other threads and processes that use this service from changing the file; take one at a time."""
        ...

    def write(
        self,
        path: Path,
        data: bytes,
        *,
        expected_digest: str | None = None,
        like: FileState | None = None,
        judged: Mapping[str, bool] | None = None,
    ) -> Written:
        """Replace a file so that at every moment it is either the old or the new bytes.

        With `expected_digest` the write is refused as `stale` when the file is no longer what was read; the empty
        digest stands for "no such file". `like` carries encoding, newline style, BOM and whether the conversation
        knows the whole file over to what is remembered. `judged` is `ctx.judged`: a link that leads elsewhere by now is
        refused.
        """
        ...

    def shows_again(self, path: Path, view: str) -> bool:
        """Whether this view of an unchanged file is still in the conversation.

        The answer is yes only once after each showing: whoever asks again does not have it any more.
        """
        ...

    def forget_views(self) -> None:
        """Earlier results have left the conversation, as after compaction; what is known about files stays."""
        ...

    def scratch(self, name: str) -> Path:
        """A private folder for what belongs to a result but not into it, such as the pages of a document."""
        ...

    def listen(self, listener: FileListener) -> Callable[[], None]:
        """Be told after each read and write; the callable returned ends it."""
        ...

    def undo_entries(self) -> Sequence[Undo]:
        """Every write of this session, newest last, sub-agents included."""
        ...

    def fork(self) -> Files:
        """A copy for a sub-agent: it knows what the parent knew and learns on its own."""
        ...


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
    on_end: Callable[[], None] | None = field(default=None, repr=False)
    """Called once, when the process has ended or could not be started: for what a hook has set up around it.

    A hook that finds one here calls it from its own. It must not wait for anything."""


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended."""

    code: int | None
    """The exit code; None when a signal ended it."""
    signal: str = ""
    """The name of the signal that ended it, such as SIGKILL."""
    timed_out: bool = False
    output: Path | None = None
    """The file with standard output and error in the order in which they were written."""
    output_bytes: int = 0
    """How much the process wrote to its output and was kept."""
    truncated: bool = False
    """True when output is missing: it passed `max_output_bytes`, or `output_error` says why."""
    output_error: str = ""
    """Why the output file could not be written, such as a full disk; the process itself was left alone."""
    out_of_memory: bool = False
    """Whether the kernel ended a part of it because `max_memory_bytes` was passed."""


class Process(Protocol):
    """A running process and everything it started."""

    @property
    def pid(self) -> int:
        """The id of the process; it leads its own session and group."""
        ...

    @property
    def output(self) -> Path | None:
        """The file that grows with its output, known from the start; None when no file is kept."""
        ...

    async def wait(self) -> ProcessExit:
        """Wait until the process itself has ended, even if a grandchild still holds its output.

        Cancelling the wait leaves the process alone, so a caller may give up waiting and come back later.
        """
        ...

    async def kill(self) -> None:
        """End the process and all that it started, also what outlived it; returns when none is left."""
        ...


OnBytes = Callable[[bytes], None]


class Processes(Protocol):
    """Starts processes in their own session, with a scrubbed environment and capped output."""

    def wrapped_by(self, wrap: Callable[[ProcessSpec], Awaitable[ProcessSpec]]) -> Processes:
        """The same service, where everything that is started goes through `wrap` first: a sandbox depends on it."""
        ...

    async def start(
        self, spec: ProcessSpec, *, on_output: OnBytes | None = None, on_error: OnBytes | None = None
    ) -> Process:
        """Start a process after every `wrap_process` hook has had its say; it runs until it ends or the session does.

        With `on_error`, standard error goes there and nowhere else; without, it is part of the output.
        """
        ...

    async def run(
        self, spec: ProcessSpec, *, on_output: OnBytes | None = None, on_error: OnBytes | None = None
    ) -> ProcessExit:
        """Start, wait and clean up: nothing that the process started is left. Cancelling ends the whole tree."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """Work that goes on after the call that started it."""

    id: str
    name: str
    state: str
    """`running`, `done`, `failed` or `stopped`."""
    output: Path | None = None
    value: object = None
    """What the work returned, once it is done."""
    error: str = ""
    """Why it failed, as a sentence."""


@dataclass(frozen=True, slots=True)
class TaskText:
    """A piece of a task's output, and where the next piece begins."""

    text: str
    next_offset: int
    size: int
    """How many bytes of output there are by now."""


class Background(Protocol):
    """Keeps what may outlive a call: commands and agents in the background."""

    def start(self, name: str, work: Callable[[], Awaitable[object]], *, output: Path | None = None) -> Task:
        """Start work and return at once."""
        ...

    def tasks(self) -> Sequence[Task]:
        """All work of this session, newest last."""
        ...

    def get(self, task_id: str) -> Task | None:
        """One piece of work by its id."""
        ...

    def read(self, task_id: str, offset: int = 0, limit: int = 30_000) -> TaskText:
        """Up to `limit` bytes of output from a byte offset, never cut inside a character."""
        ...

    async def wait(self, task_id: str) -> Task:
        """Wait for the work to end; cancelling the wait leaves the work alone."""
        ...

    async def stop(self, task_id: str) -> Task:
        """Cancel the work and wait for it to end."""
        ...


class Model(Protocol):
    """Small questions to a model, for tools that need one."""

    async def complete(self, prompt: str, *, system: str = "", model: str | None = None, max_tokens: int = 1024) -> str:
        """One answer to one prompt, as text."""
        ...
