"""Run a command in a shell: start it, watch it, end it, or leave it in the background."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from pegboard import Context, ProcessSpec, Settings, ToolError
from pegboard_bash.codes import ending, interpretation
from pegboard_bash.output import ON_FAILURE, OutputTail, shown
from pegboard_bash.shape import shape_of
from pegboard_files import plain_text
from pegboard_processes import Process, ProcessExit, Task

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How long a command may take, and what happens then."""

    seconds: float
    goes_on: bool = False
    """Whether it continues in the background instead of being ended."""


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
        max_output_bytes=settings.get("bash.maxOutputBytes"),
        max_memory_bytes=megabytes * 1_000_000 if megabytes else None,
    )


class Listener:
    """Passes output on to the screen, a few times a second, and keeps the last of it for a call that is stopped."""

    def __init__(self, ctx: Context) -> None:
        self._ctx, self._tail, self._recent = ctx, OutputTail(), bytearray()

    def __call__(self, data: bytes) -> None:
        self._recent += data
        if len(self._recent) > 2 * ON_FAILURE:
            del self._recent[:-ON_FAILURE]
        text = self._tail.take(data, time.monotonic())
        if text and self._ctx.on_progress:
            self._ctx.report(text.rpartition("\n")[2], tail=text, bytes=self._tail.size)

    def note_on(self, cancelled: BaseException) -> None:
        """Hand on what the command wrote, for whoever stopped it and for the model."""
        text = plain_text(self._recent[-ON_FAILURE:].decode(errors="replace")).rstrip("\n")
        if text:
            cancelled.add_note(f"Its output until then:\n{text}")


async def run(spec: ProcessSpec, limits: TimeLimits, name: str, ctx: Context) -> ProcessExit | Task:
    """Run a command to its end; or return the task as which it continues after its time."""
    listener = Listener(ctx)
    try:
        if not limits.goes_on:
            return await ctx.processes.run(replace(spec, timeout=limits.seconds), on_output=listener)
        return await _run_or_leave(spec, limits, name, ctx, listener)
    except anyio.get_cancelled_exc_class() as cancelled:
        listener.note_on(cancelled)
        raise


async def _run_or_leave(
    spec: ProcessSpec, limits: TimeLimits, name: str, ctx: Context, listener: Listener
) -> ProcessExit | Task:
    process = await ctx.processes.start(spec, on_output=listener)
    try:
        with anyio.move_on_after(limits.seconds):
            ended = await process.wait()
            await process.kill()  # what it started must not outlive a call that is over
            return ended
        return hand_over(process, name, ctx)
    except BaseException:
        await process.kill()
        raise


async def start(spec: ProcessSpec, name: str, ctx: Context) -> Task:
    """Start a command that continues after the call."""
    _ = ctx.background  # a host without one says so before anything has begun
    process = await ctx.processes.start(spec)
    try:
        return hand_over(process, name, ctx, tty=spec.tty)
    except BaseException:  # the session has ended in the meantime
        await process.kill()
        raise


def hand_over(process: Process, name: str, ctx: Context, *, tty: bool = False) -> Task:
    """Let a process continue as a background task; the model is told once when it has ended."""
    task: Task | None = None

    async def work() -> str:
        try:
            ended = await process.wait()
        finally:
            await process.kill()
        words, failed = _summary(ended, name)
        if task and "conversation" in ctx.services.others:
            how = "has failed" if failed else "is done"
            ctx.service("conversation").announce(f"The background task {task.id} ({_short(name)}) {how}: it {words}.")
        if failed:
            raise ToolError(f"It {words}.", code="failed", remedy="")
        return f"It {words}."

    process_on_terminal = process if tty else None
    task = ctx.background.start(_short(name), work, output=process.output, command=name, process=process_on_terminal)
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
