"""Run a command in a fresh shell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from pegboard import Ask, Context, Decision, Facts, Input, ProcessSpec, Tool, ToolError, hookimpl

if TYPE_CHECKING:
    from pegboard_bash.understanding import Understanding

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
    A command that plainly only reads runs without a question: prefer literal words to variables and substitutions.
    """

    search_hint = "run shell command execute terminal"
    requires_binaries = ("bash",)
    cascades = True

    def facts(self, args: BashInput, ctx: Context, /) -> Facts:
        return _understood(args.command, ctx).facts

    def check_permission(self, args: BashInput, ctx: Context, /) -> Decision | None:
        critical = _understood(args.command, ctx).critical
        if not critical:
            return None
        reason = f"Bash would delete {critical}, and if the variable is empty that may be everything."
        return Ask(reason, layer="critical-path", matched=critical)

    async def call(self, args: BashInput, ctx: Context, /) -> BashOutput:
        milliseconds = min(args.timeout or DEFAULT_MS, LONGEST_MS)
        spec = ProcessSpec(
            argv=("bash", "-c", args.command),
            cwd=ctx.cwd,
            env=_environment(args.command, ctx),
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


def _understood(command: str, ctx: Context) -> Understanding:
    # The parser and the table take 60 ms to load; listing tools must not pay for them.
    from pegboard_bash.understanding import understand

    return understand(command, ctx.cwd)


def _environment(command: str, ctx: Context) -> dict[str, str]:
    """What a command that only reads is given besides, so that git in it runs nothing of the repository's choosing."""
    understood = _understood(command, ctx)
    if not understood.facts.read_only:
        return {}
    # Loaded with the parser above, so this costs nothing here and nothing when listing.
    from pegboard_bash.repository import git_environment

    return git_environment() if "git" in understood.programs else {}


def _last_line(data: bytes) -> str:
    lines = data.decode(errors="replace").splitlines()
    return lines[-1] if lines else ""


def _text(path: Path | None) -> str:
    return path.read_bytes().decode(errors="replace").rstrip("\n") if path else ""


@hookimpl
def register_tools() -> list[Bash]:
    return [Bash()]
