"""Uses of the contract that both type checkers must accept."""

from pathlib import Path
from typing import Any, assert_type

from pydantic import BaseModel

from pegboard import Allow, Ask, Change, Context, Decision, Facts, Input, Output, Tool, hookimpl, tool


class ReadInput(Input):
    file_path: Path
    """The file."""


class Lines(BaseModel):
    lines: int


@tool(read_only=True, concurrency_safe=True, open_world=False, search_hint="lines of a file")
def SyncText(args: ReadInput, ctx: Context) -> str:
    """Sync, text."""
    return str(ctx.resolve(args.file_path))


@tool(read_only=True)
async def AsyncText(args: ReadInput, ctx: Context) -> str:
    """Async, text."""
    return str(ctx.resolve(args.file_path))


@tool()
async def AsyncModel(args: ReadInput, ctx: Context) -> Lines:
    """Async, model."""
    return Lines(lines=1)


@tool()
def SyncOutput(args: ReadInput, ctx: Context) -> Output[Lines]:
    """Sync, with a change."""
    return Output(Lines(lines=2), change=Change(cwd=Path("/srv")))


@tool()
async def AsyncOutput(args: ReadInput, ctx: Context) -> Output[Lines]:
    """Async, with a change."""
    return Output(Lines(lines=2))


class ShellInput(Input):
    command: str


def looks(args: ShellInput, ctx: Context) -> Facts:
    return Facts(read_only=args.command.startswith("git log"))


async def looks_longer(args: ShellInput, ctx: Context) -> Facts:
    return looks(args, ctx)


def ask_first(args: ShellInput, ctx: Context) -> Decision | None:
    return Allow() if looks(args, ctx).read_only else Ask(f"Run {args.command}?")


@tool(facts=looks, permission=ask_first, destructive=False)
async def Shell(args: ShellInput, ctx: Context) -> Lines:
    """Run."""
    return Lines(lines=0)


@tool(facts=looks_longer)
def Shell2(args: ShellInput, ctx: Context) -> str:
    """Run."""
    return ""


@tool(permission=ask_first)
def Shell3(args: ShellInput, ctx: Context) -> str:
    """Run."""
    return ""


class Bash(Tool[ShellInput, Lines]):
    """Run a command."""

    read_only = False

    async def facts(self, args: ShellInput, ctx: Context, /) -> Facts:
        return looks(args, ctx)

    async def call(self, args: ShellInput, ctx: Context, /) -> Lines:
        return Lines(lines=len(args.command))

    def content(self, value: Lines, /) -> str:
        return f"{value.lines} lines"


class Wc(Tool[ReadInput, str]):
    """Count."""

    def call(self, args: ReadInput, ctx: Context, /) -> str:
        return "1"


class Cd(Tool[ReadInput, Lines]):
    """Change the folder."""

    async def call(self, args: ReadInput, ctx: Context, /) -> Output[Lines]:
        return Output(Lines(lines=1))


assert_type(SyncText, Tool[ReadInput, str])
assert_type(AsyncText, Tool[ReadInput, str])
assert_type(AsyncModel, Tool[ReadInput, Lines])
assert_type(SyncOutput, Tool[ReadInput, Lines])
assert_type(AsyncOutput, Tool[ReadInput, Lines])
assert_type(Shell, Tool[ShellInput, Lines])
assert_type(Shell2, Tool[ShellInput, str])
assert_type(Shell3, Tool[ShellInput, str])

TOOLS: list[Tool[Any, Any]] = [
    SyncText,
    AsyncText,
    AsyncModel,
    SyncOutput,
    AsyncOutput,
    Shell,
    Shell2,
    Bash(),
    Wc(),
    Cd(),
]


@hookimpl
def register_tools() -> list[Tool[Any, Any]]:
    return TOOLS


@hookimpl(priority=-10)
async def check_permission(args: Input) -> Decision | None:
    return None
