"""What a tool may ask of `ctx.processes` and `ctx.background`, and the plain data that it gets back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class Started(Protocol):
    """A process that has begun: a child of the host, and the leader of its own session."""

    @property
    def pid(self) -> int:
        """Its id."""
        ...

    def poll(self) -> int | None:
        """Its exit code, once it has ended; this reaps it."""
        ...


class Starter(Protocol):
    """Starts a process in another way than by a plain fork and exec, such as with fewer rights."""

    def __call__(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        standard: tuple[int, int, int],
        enter: Callable[[int], None] | None,
        /,
    ) -> Started:
        """Start it with these descriptors as input, output and errors; an `OSError` when it cannot be started.

        `enter` is called with the id of the process before it does anything: it puts it under a limit.
        """
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
    tty: bool = False
    """Whether it runs on a pseudo-terminal of its own, from which it reads what `Process.send` types. For `start`."""
    timeout: float | None = None
    """Seconds until the whole tree is ended."""
    max_output_bytes: int = 5_000_000_000
    """A process that writes more is ended with all it started."""
    keep_output: bool = True
    """False when the callbacks are all that is wanted: no file is written."""
    unsandboxed: bool = False
    """Whether it asks to run outside any sandbox; the sandbox decides."""
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

    async def send(self, data: bytes) -> int:
        """Type into its terminal, and say how many bytes it took; a `ToolError` where it has none or has ended.

        Cancelling the wait for a process that does not read leaves it with what it took.
        """
        ...

    async def wait(self) -> ProcessExit:
        """Wait until the process itself has ended, even if a grandchild still holds its output.

        Cancelling the wait leaves the process alone, so a caller may give up waiting and come back later.
        """
        ...

    async def kill(self) -> None:
        """End the process and all that it started, also what outlived it; returns when none is left."""
        ...


class OpenProcess(Protocol):
    """A process whose input stays open, such as a server that speaks over its standard streams.

    Nothing is read ahead: a process that writes more than is received has to wait. When it has ended, sending and
    receiving raise a `ToolError` that says how, with the last of what it said on standard error.
    """

    @property
    def pid(self) -> int:
        """The id of the process; it leads its own session and group."""
        ...

    @property
    def errors(self) -> str:
        """The last of what it said on standard error."""
        ...

    async def send(self, data: bytes) -> None:
        """Write all of the data, waiting while the process does not read."""
        ...

    async def close_input(self) -> None:
        """Say that nothing more will be sent; what it writes can still be received."""
        ...

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        """The next bytes, as soon as there are any; empty at the end of the output."""
        ...

    async def receive_exactly(self, count: int) -> bytes:
        """So many bytes, for a message whose length is known."""
        ...

    async def receive_until(self, delimiter: bytes, max_bytes: int = 16_777_216) -> bytes:
        """Everything before the delimiter, which is taken too."""
        ...

    def lines(self, max_bytes: int = 16_777_216) -> AsyncIterator[bytes]:
        """Each line without its line feed, until the output ends."""
        ...

    async def wait(self) -> ProcessExit:
        """Wait until the process itself has ended; cancelling the wait leaves it alone."""
        ...

    async def kill(self) -> None:
        """End the process and all that it started; returns when none is left."""
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

    def open(
        self, spec: ProcessSpec, *, on_error: OnBytes | None = None, grace: float = 2.0, idle: float | None = None
    ) -> AbstractAsyncContextManager[OpenProcess]:
        """Start a process and talk to it, after every `wrap_process` hook has had its say.

        On leaving, its input is closed, it has `grace` seconds to end by itself, and then it is ended with all that it
        started; so it is after `idle` seconds without traffic, and at the end of the session in any case. To keep one
        for several calls, enter it in `start_session` and leave it in `end_session`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """Work that continues after the call that started it."""

    id: str
    name: str
    state: str
    """`running`, `done`, `failed` or `stopped`."""
    output: Path | None = None
    value: object = None
    """What the work returned, once it is done."""
    error: str = ""
    """Why it failed, as a sentence."""
    command: str = ""
    """The whole command, where it is one."""
    tty: bool = False
    """Whether it runs on a terminal, so that `Background.send` can type into it."""


@dataclass(frozen=True, slots=True)
class TaskText:
    """A piece of a task's output, and where the next piece begins."""

    text: str
    next_offset: int
    size: int
    """How many bytes of output there are by now."""


class Background(Protocol):
    """Keeps what may outlive a call: commands and agents in the background."""

    def start(
        self,
        name: str,
        work: Callable[[], Awaitable[object]],
        *,
        output: Path | None = None,
        command: str = "",
        process: Process | None = None,
    ) -> Task:
        """Start work and return at once. `process` is one on a terminal, into which `send` types."""
        ...

    async def send(self, task_id: str, data: bytes) -> int:
        """Type into the terminal of a task that runs, and say how many bytes it took."""
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
