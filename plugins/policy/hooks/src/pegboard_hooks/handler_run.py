"""Run a handler's command, write its input, and record how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegboard import Context, ProcessSpec, ToolError
from pegboard_hooks.handlers import Handler

MAX_OUTPUT_BYTES = 1_000_000
"""A handler that prints more than this, on both outputs together, is killed."""


@dataclass(frozen=True, slots=True)
class HandlerRun:
    """How a command ended. With a `problem`, the exit code has no meaning."""

    code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    problem: str = ""


async def run(handler: Handler, payload: Mapping[str, Any], ctx: Context) -> HandlerRun:
    """Run a handler until it ends or times out; everything it started is gone afterwards."""
    root = Path(ctx.settings.root)
    output, errors = bytearray(), bytearray()
    spec = ProcessSpec(
        argv=handler.argv,
        cwd=ctx.cwd,
        env={"CLAUDE_PROJECT_DIR": str(root), "PEGBOARD_PROJECT_DIR": str(root)},
        writable=tuple(dict.fromkeys((root, ctx.cwd, *ctx.roots))),
        stdin=json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace"),
        timeout=handler.timeout,
        max_output_bytes=MAX_OUTPUT_BYTES,
        keep_output=False,
    )
    try:
        ended = await ctx.processes.run(spec, on_output=output.extend, on_error=errors.extend)
    except ToolError as error:
        return HandlerRun(problem=error.message)
    if ended.timed_out:
        return HandlerRun(problem=f"It took longer than {handler.timeout:g} s and was killed.")
    if ended.truncated:
        return HandlerRun(problem=f"It printed more than {MAX_OUTPUT_BYTES} bytes and was killed.")
    if ended.code is None:
        return HandlerRun(problem=f"It was killed by {ended.signal or 'a signal'}.")
    return HandlerRun(ended.code, bytes(output), bytes(errors))
