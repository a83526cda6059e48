"""A command on its way through a shell: started, watched, ended, or left to go on in the background."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from pegboard import Context, ProcessSpec, ToolError
from pegboard.services import Process, ProcessExit, Task
from pegboard.settings import Settings
from pegboard_bash.codes import ending, interpretation
from pegboard_bash.output import Tail, shown
from pegboard_bash.shape import shape_of

MAX_OUTPUT_BYTES = 5_000_000_000
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a command may take, and what happens then."""

    seconds: float
    goes_on: bool = False
    """Whether it goes on in the background instead of being ended."""


def specification(
    command: str, start: Path, env: dict[str, str], writable: tuple[Path, ...], settings: Settings
) -> ProcessSpec:
    """The process for a command: a fresh shell that is not a login shell."""
    megabytes = settings.get("bash.maxMemoryMb")
    # A command that begins with a dash would be taken for an option.
    dashes = ("--",) if command[:1] in ("-", "+") else ()
    return ProcessSpec(
        argv=("bash", "-c", *dashes, command),
        cwd=start,
        env=env,
        writable=writable,
        max_output_bytes=settings.get("bash.maxOutputBytes", MAX_OUTPUT_BYTES),
        max_memory_bytes=megabytes * 1_000_000 if megabytes else None,
    )


def teller(ctx: Context) -> Callable[[bytes], None] | None:
    """What passes output on to the screen, a few times a second."""
    if ctx.on_progress is None:
        return None
    tail = Tail()

    def tell(data: bytes) -> None:
        text = tail.take(data, time.monotonic())
        if text:
            ctx.report(text.rpartition("\n")[2], tail=text, bytes=tail.size)

    return tell


async def run(spec: ProcessSpec, limits: Limits, name: str, ctx: Context) -> ProcessExit | Task:
    """Run a command to its end; or hand back the task as which it goes on after its time."""
    if not limits.goes_on:
        return await ctx.processes.run(replace(spec, timeout=limits.seconds), on_output=teller(ctx))
    process = await ctx.processes.start(spec, on_output=teller(ctx))
    try:
        with anyio.move_on_after(limits.seconds):
            ended = await process.wait()
            await process.kill()  # what it started must not outlive a call that is over
            return ended
    except BaseException:
        await process.kill()
        raise
    return hand_over(process, name, ctx)


async def start(spec: ProcessSpec, name: str, ctx: Context) -> Task:
    """Start a command that goes on after the call."""
    _ = ctx.background  # a host without one says so before anything has begun
    return hand_over(await ctx.processes.start(spec), name, ctx)


def hand_over(process: Process, name: str, ctx: Context) -> Task:
    """Let a process go on as a background task; the model is told once when it has ended."""
    task: Task | None = None

    async def work() -> str:
        try:
            ended = await process.wait()
        finally:
            await process.kill()
        words, failed = _summary(ended, name)
        if task and ctx.services.agents:
            how = "has failed" if failed else "is done"
            ctx.services.agents.announce(f"The background task {task.id} ({_short(name)}) {how}: it {words}.")
        if failed:
            raise ToolError(f"It {words}.", code="failed", remedy="")
        return f"It {words}."

    task = ctx.background.start(_short(name), work, output=process.output)
    return task


def _summary(ended: ProcessExit, name: str) -> tuple[str, bool]:
    if ended.code == 0:
        return "exited with code 0", False
    if ended.code is not None:
        meaning = interpretation(ended.code, shape_of(name), shown(ended.output, 10_000).text)
        if meaning:
            return f"exited with code {ended.code}: {meaning}", False
    return ending(ended.code, ended.signal, memory_ran_out=ended.out_of_memory), True


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"
