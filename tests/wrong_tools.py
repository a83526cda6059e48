"""Tools that break one promise each, and one that keeps them all."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.lowlevel
from pydantic import BaseModel, BeforeValidator, ConfigDict

from pegboard import Context, Facts, Input, Tool, ToolError, tool

SAFE = {"read_only": True, "concurrency_safe": True, "open_world": False}
KEY = "a-value-that-must-not-be-shown"


class Nothing(Input):
    pass


class File(Input):
    file_path: Path
    """The file."""


class Options(Input):
    who: str
    """Whom to greet."""
    times: int | None = None
    """How often."""


@tool(**SAFE)
def Good(args: Options, ctx: Context) -> str:
    """Greet somebody once or a few times."""
    return f"Hello {args.who}" * min(args.times or 1, 3)


@tool(**SAFE)
def NoPrompt(args: Nothing, ctx: Context) -> str:
    """Do it."""
    return "done"


class LyingSchema(Tool[Options, str]):
    """Promise another input than the one that is taken."""

    read_only = concurrency_safe = True
    open_world = False

    @property
    def input_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"whom": {"type": "string"}}, "required": ["whom"]}

    def call(self, args: Options, ctx: Context, /) -> str:
        return args.who


class Unstable(Tool[Nothing, str]):
    read_only = concurrency_safe = True
    open_world = False
    prompt = f"Greet one of {', '.join({'Ada', 'Bob', 'Cleo', 'Dan', 'Eve', 'Finn', 'Gus'})}, process {os.getpid()}."

    def call(self, args: Nothing, ctx: Context, /) -> str:
        return "Hello"


class Forgiving(Input):
    model_config = ConfigDict(extra="ignore")
    who: str
    """Whom to greet."""


@tool(**SAFE)
def IgnoresKeys(args: Forgiving, ctx: Context) -> str:
    """Greet somebody and ignore the rest."""
    return args.who


class Coercing(Input):
    times: Annotated[int, BeforeValidator(lambda value: value if isinstance(value, int) else 1)]
    """How often."""


@tool(**SAFE)
def TakesAnything(args: Coercing, ctx: Context) -> str:
    """Greet somebody as often as it understands."""
    return "Hello"


class Nullable(Input):
    who: str | None
    """Whom to greet."""


@tool(**SAFE)
def TakesNull(args: Nullable, ctx: Context) -> str:
    """Greet somebody, who is required and may be null all the same."""
    return str(args.who)


class Login(Input):
    password: str
    """The password."""


@tool(**SAFE)
def ShowsSecrets(args: Login, ctx: Context) -> str:
    """Log in somewhere, with a password that every log shows."""
    return "in"


class HoldsSecret(Tool[Nothing, str]):
    """Read a key when it is made, and keep it."""

    read_only = concurrency_safe = True
    open_world = False

    def __init__(self) -> None:
        self.key = os.environ.get("WRONG_TOOL_API_KEY", "")

    def call(self, args: Nothing, ctx: Context, /) -> str:
        return "ok"


@tool(facts=lambda args, ctx: Facts(read_only=True, open_world=False, reads=(ctx.resolve(args.who[0]),)))
def CrashingFacts(args: Options, ctx: Context) -> str:
    """Say what it does for most inputs, but not for the empty one."""
    return args.who


@tool(**SAFE)
def Crashes(args: File, ctx: Context) -> str:
    """Read a file and forget that it may be missing."""
    return ctx.resolve(args.file_path).read_bytes()[:10].hex()


class Pair(BaseModel):
    left: int
    right: int


class WrongOutput(Tool[Nothing, Pair]):
    """Promise a pair and return something else."""

    read_only = concurrency_safe = True
    open_world = False

    def call(self, args: Nothing, ctx: Context, /) -> Any:
        return {"left": "one"}


@tool(**SAFE, max_result_chars=None)
def Endless(args: Nothing, ctx: Context) -> str:
    """Return more than anybody can read."""
    return "x" * 1_000_000


class Names(Input):
    names: list[str]
    """Whom to greet."""


@tool(**SAFE)
def ChangesInput(args: Names, ctx: Context) -> str:
    """Greet some people, and one more."""
    args.names.append("Eve")
    return ", ".join(args.names)


@tool(**SAFE)
def SecretlyWrites(args: Nothing, ctx: Context) -> str:
    """Say that it only reads, and leave a file behind."""
    (ctx.cwd / "left-behind.txt").write_text("x")
    return "done"


@tool(facts=lambda args, ctx: Facts(open_world=False, writes=(ctx.resolve("declared.txt"),)))
def WritesElsewhere(args: Nothing, ctx: Context) -> str:
    """Declare one file and write another."""
    (ctx.cwd / "other.txt").write_text("x")
    return "done"


@tool(**SAFE)
async def BlocksTheLoop(args: Nothing, ctx: Context) -> str:
    """Sleep without letting anybody else go on."""
    time.sleep(0.5)
    return "done"


@tool(**SAFE)
async def IgnoresCancellation(args: Nothing, ctx: Context) -> str:
    """Go on as if nobody had said stop."""
    with anyio.CancelScope(shield=True):
        await anyio.sleep(2.3)
    return "done"


@tool(**SAFE)
async def CleansUpForever(args: Nothing, ctx: Context) -> str:
    """Stop in time when a person asks, but not when the clock does."""
    with anyio.move_on_after(0.2):
        await anyio.sleep(0.2)
    with anyio.CancelScope(shield=True):
        await anyio.sleep(2.4)
    return "done"


seen: list[str] = []


@tool(**SAFE)
async def SharesState(args: Nothing, ctx: Context) -> str:
    """Count its callers in one place for all."""
    seen.append("caller")
    await anyio.sleep(0.01)
    return str(len(seen))


class AtOnce:
    """How many calls run now, and the most there ever were."""

    now = most = 0


@tool(**SAFE)
async def RemembersTheCrowd(args: Nothing, ctx: Context) -> str:
    """Say something else from the moment on at which two calls met."""
    AtOnce.now += 1
    AtOnce.most = max(AtOnce.most, AtOnce.now)
    try:
        await anyio.sleep(0.01)
    finally:
        AtOnce.now -= 1
    return f"at most {AtOnce.most} at once"


def _own_file(args: Options, ctx: Context) -> Facts:
    return Facts(concurrency_safe=True, open_world=False, writes=(ctx.cwd / "made" / f"{len(args.who)}.txt",))


writing: list[str] = []


@tool(facts=_own_file)
async def MixesFiles(args: Options, ctx: Context) -> str:
    """Write a file of its own, with what the neighbour wanted to write."""
    writing.append(args.who)
    await anyio.sleep(0.01)
    (ctx.cwd / "made").mkdir(exist_ok=True)
    (ctx.cwd / "made" / f"{len(args.who)}.txt").write_text(writing[-1])
    return "written"


def _busy_facts(args: Nothing, ctx: Context) -> Facts:
    (ctx.cwd / "seen.txt").touch()
    return Facts(read_only=True, open_world=False)


@tool(facts=_busy_facts)
def ActsTooEarly(args: Nothing, ctx: Context) -> str:
    """Do the work before anybody was asked."""
    return "done"


def _no_facts(args: Nothing, ctx: Context) -> Facts:
    raise ToolError("I would rather not say.")


@tool(facts=_no_facts)
def SaysNothing(args: Nothing, ctx: Context) -> str:
    """Refuse to say what it would do."""
    return "done"


@tool(**SAFE)
async def NeedsASession(args: Nothing, ctx: Context) -> str:
    """Use everything that only a session has."""
    task = ctx.background.start("note", anyio.lowlevel.checkpoint)
    await ctx.background.wait(task.id)
    return f"{await ctx.model.complete('Well?')} {len(ctx.service('agents').subagents())} agents"


@tool(**SAFE)
def WantsOneFile(args: File, ctx: Context) -> str:
    """Tell that one particular file is there."""
    if args.file_path.name != "wanted.txt":
        raise ToolError("Only wanted.txt will do.")
    return str((ctx.cwd / "wanted.txt").stat().st_size)


@tool()
def OpenWorld(args: Options, ctx: Context) -> str:
    """Reach outside, as a tool does whose author said nothing."""
    if args.who != "friend":
        raise ToolError("I only greet friends.")
    return "Hello"
