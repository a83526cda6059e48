"""Tools that end in every way, and a person who answers."""

from __future__ import annotations

import anyio
from opentelemetry import trace

from pegboard import Allow, Context, Deny, Input, ToolError, hookimpl, tool
from pegboard_session import ReplayProvider, Session


class TextInput(Input):
    text: str = ""
    """Anything."""


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Echo(args: TextInput, ctx: Context) -> str:
    """Say it again, and do something that has a span of its own."""
    with trace.get_tracer("a library").start_as_current_span(f"library {args.text}"):
        await anyio.sleep(0)
    return args.text


@tool(read_only=True, concurrency_safe=True, open_world=False)
def EchoInThread(args: TextInput, ctx: Context) -> str:
    """Say it again, in a thread."""
    with trace.get_tracer("a library").start_as_current_span("library in a thread"):
        return args.text


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Fail(args: TextInput, ctx: Context) -> str:
    """Fail as told."""
    if args.text == "bug":
        raise RuntimeError("a secret detail")
    raise ToolError("There is no such secret detail.", code="not_found")


@tool(open_world=False)
async def Change(args: TextInput, ctx: Context) -> str:
    """Change something, which asks."""
    return "changed"


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Outer(args: TextInput, ctx: Context) -> str:
    """Call another tool."""
    return (await ctx.call("Echo", {"text": "inner"})).text


class Meeting:
    """Where two calls meet, so that they overlap."""

    def __init__(self) -> None:
        self.there = 0
        self.all = anyio.Event()

    async def join(self, most: int) -> None:
        self.there += 1
        if self.there == most:
            self.all.set()
        await self.all.wait()


MEETINGS: list[Meeting] = []


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Meet(args: TextInput, ctx: Context) -> str:
    """Wait for the other call of this turn."""
    await MEETINGS[-1].join(2)
    with trace.get_tracer("a library").start_as_current_span(f"library {args.text}"):
        await anyio.sleep(0)
    return args.text


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Wait(args: TextInput, ctx: Context) -> str:
    """Wait until the session is interrupted, which it is at once."""
    ctx.service("interrupt")()
    await anyio.sleep_forever()
    return ""


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Delegate(args: TextInput, ctx: Context) -> str:
    """Start an agent in a session below this one, as a tool for sub-agents does."""
    parent: Session = ctx.service("session")
    provider = ReplayProvider([{"content": [use("Echo", text="child")]}, {"content": [said("Child is done.")]}])
    async with Session(parent.board, provider, model="small", parent=parent, ctx=parent.ctx) as session:
        return (await session.run("Work.")).text


TOOLS = [Echo, EchoInThread, Fail, Change, Outer, Meet, Wait, Delegate]


def use(name: str, id: str = "", **given: object) -> dict[str, object]:
    """A call."""
    return {"type": "tool_use", "name": name, "input": given, **({"id": id} if id else {})}


def said(words: str) -> dict[str, object]:
    """Words of a model."""
    return {"type": "text", "text": words}


class Person:
    """Answers as a test says, and gives tools the session that they ask for."""

    def __init__(self) -> None:
        self.decision: Allow | Deny | None = Allow("Yes.", layer="ask")

    @hookimpl
    def ask_user(self) -> Allow | Deny | None:
        return self.decision

    @hookimpl
    def register_session_services(self, session: Session) -> dict[str, object]:
        return {"session": session, "interrupt": session.interrupt}
