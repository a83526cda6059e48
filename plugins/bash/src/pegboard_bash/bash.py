"""Run a command in a fresh shell."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from pegboard import Context, Input, ProcessSpec, Tool, ToolError, hookimpl

DEFAULT_MS = 120_000
LONGEST_MS = 600_000
MAX_OUTPUT_BYTES = 500_000_000


class BashInput(Input):
    command: str
    """The command."""
    timeout: Annotated[int, Field(ge=1)] | None = None
    """Milliseconds until the command and all it started are ended; at most 600000."""
    description: str | None = None
    """What it does, in five to ten words."""


class BashOutput(BaseModel):
    output: str
    exit_code: int | None
    signal: str = ""


class Bash(Tool[BashInput, BashOutput]):
    """Run a command with bash. Output and errors come back together, in the order in which they were written.

    Each command gets a fresh shell; nothing it starts outlives it. There is no terminal and no input.
    """

    search_hint = "run shell command execute terminal"
    requires_binaries = ("bash",)
    cascades = True

    async def call(self, args: BashInput, ctx: Context, /) -> BashOutput:
        milliseconds = min(args.timeout or DEFAULT_MS, LONGEST_MS)
        spec = ProcessSpec(
            argv=("bash", "-c", args.command),
            cwd=ctx.cwd,
            writable=(ctx.cwd, *ctx.roots),
            timeout=milliseconds / 1000,
            max_output_bytes=MAX_OUTPUT_BYTES,
        )
        ended = await ctx.processes.run(spec, on_output=lambda data: ctx.report(_last_line(data)))
        text = _text(ended.output)
        if ended.timed_out:
            raise ToolError(
                f"The command timed out after {milliseconds / 1000:g} s and was ended.\n{text}", code="timeout"
            )
        if ended.code != 0:
            how = f"exited with code {ended.code}" if ended.code is not None else f"was ended by {ended.signal}"
            raise ToolError(f"The command {how}.\n{text}".rstrip(), code="internal", remedy="")
        return BashOutput(output=text, exit_code=ended.code, signal=ended.signal)

    def content(self, value: BashOutput, /) -> str:
        return value.output or "(no output)"

    def describe(self, args: BashInput, /) -> str:
        return f"Run: {args.command}"


def _last_line(data: bytes) -> str:
    lines = data.decode(errors="replace").splitlines()
    return lines[-1] if lines else ""


def _text(path: Path | None) -> str:
    return path.read_bytes().decode(errors="replace").rstrip("\n") if path else ""


@hookimpl
def register_tools() -> list[Bash]:
    return [Bash()]
