"""Pegboard: a session with a provider that plays a script."""

import os
import tempfile

import anyio
from play import NAP, given, measure

from pegboard import Board, Context, Input, tool
from pegboard_session import ReplayProvider, Session


class ToolInput(Input):
    path: str
    offset: int = 1
    limit: int = 10


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Noop(args: ToolInput, ctx: Context) -> str:
    """Do nothing."""
    return args.path


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Nap(args: ToolInput, ctx: Context) -> str:
    """Take a while."""
    await anyio.sleep(NAP)
    return args.path


folder = tempfile.mkdtemp()
board = Board.load(cwd=folder, env={"HOME": folder, "PATH": os.environ["PATH"]}, tools=[Noop, Nap])


async def turn(name, calls):
    blocks = [{"type": "tool_use", "name": name.capitalize(), "input": given()} for _ in range(calls)]
    script = [{"content": blocks}, {"content": [{"type": "text", "text": "Done."}]}]
    async with Session(board, ReplayProvider(script)) as session:
        await session.run("Go")
    assert session.usage.tools[name.capitalize()].calls == calls


measure(turn)
