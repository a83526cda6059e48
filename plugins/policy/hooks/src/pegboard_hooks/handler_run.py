"""Run a handler, whatever its type, and record how it ended."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pegboard import Context, ProcessSpec, ToolError
from pegboard_hooks.handlers import Handler
from pegboard_hooks.variables import filled_in, variables

MAX_OUTPUT_BYTES = 1_000_000
"""A handler that prints more than this, on both outputs together, has failed, unless its exit code blocks."""
KILLED_AT_BYTES = 20_000_000
"""Not at once: a guard that prints what it was asked about must get to the end, where it says no."""
BLOCKED = 2

inside: ContextVar[str] = ContextVar("the type of the handler whose own calls these are", default="")


@dataclass(frozen=True, slots=True)
class HandlerRun:
    """How a handler ended. With a `problem` or `unable`, the exit code has no meaning."""

    code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    problem: str = ""
    """How it failed."""
    unable: str = ""
    """Why this host cannot run it, or not understand it: a call that it guards needs approval."""


@dataclass(frozen=True, slots=True)
class Firing:
    """One event as its handlers see it."""

    payload: Mapping[str, Any]
    env_file: Path | None = None


async def run(handler: Handler, firing: Firing, ctx: Context) -> HandlerRun:
    """Run a handler until it ends or times out; everything it started is gone afterwards."""
    return await _runner(handler.kind)(handler, firing, ctx)


LATE = {
    "http": ("http_run", "run_http"),
    "prompt": ("model_run", "run_prompt"),
    "agent": ("model_run", "run_agent"),
    "mcp_tool": ("tool_run", "run_tool"),
}
"""Modules that are imported when a handler of their type runs: most settings have commands only."""


def _runner(kind: str) -> Callable[[Handler, Firing, Context], Awaitable[HandlerRun]]:
    if kind not in LATE:
        return _run_command
    module, name = LATE[kind]
    found: Callable[[Handler, Firing, Context], Awaitable[HandlerRun]]
    found = getattr(import_module(f"pegboard_hooks.{module}"), name)
    return found


async def _run_command(handler: Handler, firing: Firing, ctx: Context) -> HandlerRun:
    root = Path(ctx.settings.root)
    env, writable = variables(handler, ctx), [root, ctx.cwd, *ctx.roots]
    if firing.env_file:
        env["CLAUDE_ENV_FILE"] = str(firing.env_file)
        writable.append(firing.env_file.parent)
    output, errors = FirstBytes(), FirstBytes()
    spec = ProcessSpec(
        argv=handler.argv if handler.in_shell else tuple(filled_in(word, env) for word in handler.argv),
        cwd=ctx.cwd,
        env=env,
        writable=tuple(dict.fromkeys(writable)),
        stdin=json.dumps(firing.payload, ensure_ascii=False).encode("utf-8", "replace"),
        timeout=handler.timeout,
        max_output_bytes=KILLED_AT_BYTES,
        keep_output=False,
    )
    try:
        ended = await ctx.processes.run(spec, on_output=output.add, on_error=errors.add)
    except ToolError as error:
        return HandlerRun(problem=error.message)
    if ended.timed_out:
        return HandlerRun(problem=f"It took longer than {handler.timeout:g} s and was killed.")
    if ended.truncated:
        return HandlerRun(problem=f"It printed more than {MAX_OUTPUT_BYTES} bytes and was killed.")
    if ended.code is None:
        return HandlerRun(problem=f"It was killed by {ended.signal or 'a signal'}.")
    if output.size + errors.size > MAX_OUTPUT_BYTES and ended.code != BLOCKED:
        return HandlerRun(problem=f"It printed more than {MAX_OUTPUT_BYTES} bytes.")
    return HandlerRun(ended.code, bytes(output.kept), bytes(errors.kept))


class FirstBytes:
    """The beginning of an output. The rest is only counted."""

    def __init__(self) -> None:
        self.kept, self.size = bytearray(), 0

    def add(self, chunk: bytes) -> None:
        """Keep as much of a chunk as there is room for."""
        self.kept += chunk[: MAX_OUTPUT_BYTES - len(self.kept)]
        self.size += len(chunk)
