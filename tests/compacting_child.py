"""A process that compacts a conversation all the time, to be killed by a test: `compacting_child.py TRANSCRIPT`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import anyio

import pegboard_files
import pegboard_processes
from pegboard import Board, Context, Input, hookimpl, tool
from pegboard.settings import Layer, Settings
from pegboard_session import Request, Session, Stop, TextDelta, ToolCall, Transcript, restore

FACT = "FACT: the port is 48213."
ROUNDS = 3


class FetchInput(Input):
    number: int


@tool(read_only=True, concurrency_safe=True, open_world=False)
def Fetch(args: FetchInput, ctx: Context) -> str:
    """Read one of the large files."""
    return f"{args.number} " * 500


class Scripted:
    """Fetches three times for each prompt; summarises by keeping facts; answers in pieces, with pauses."""

    name = "scripted"
    models = {"small": {"window": 8_000, "maxOutput": 1_000}}

    async def stream(self, request: Request):
        said = json.dumps(list(request.messages))
        last = request.messages[-1]["content"][-1]
        fact = next(iter(re.findall(r"FACT:[^\"\\<]*?\.", said)), "nothing")
        if "Write that summary now." in last.get("text", ""):
            for piece in ("The user ", "said: ", fact, " Also many ", "files were read. " * 30):
                await anyio.sleep(0.004)
                yield TextDelta(piece)
        elif last.get("text") == "What is the port?":
            yield TextDelta(f"answer {fact}")
        elif said.count("The file is read") % (ROUNDS + 1) < ROUNDS:
            yield TextDelta("The file is read next. " + "Words. " * 100)
            yield ToolCall("", "Fetch", '{"number": 7}')
            yield Stop("tool_use")
            return
        else:
            yield TextDelta("The file is read; that is all.")
        yield Stop("end_turn")


class Watching:
    """Says what happens."""

    @hookimpl
    def before_compact(self, trigger):
        print("compacting", trigger, flush=True)

    @hookimpl
    def observe(self, event):
        if event.kind == "compacted":
            print("compacted", event.data["before"], event.data["after"], flush=True)


async def main(path: Path) -> None:
    settings = Settings([Layer("user", "test", {"maxTurns": 50})], cwd=str(path.parent))
    plugins = [Watching(), pegboard_files, pegboard_processes]
    board = Board(settings, [], plugins=plugins, tools=[Fetch], env={"HOME": str(path.parent)})
    is_new = not path.exists()
    session = Session(board, Scripted(), model="small", transcript=Transcript(path))
    if not is_new:
        session.resume(restore(path), session.ctx)
    async with session:
        if not session.messages:
            await session.run(FACT)
        for _ in range(4):
            await session.run("Read the files again.")
        print((await session.run("What is the port?")).text, flush=True)


anyio.run(main, Path(sys.argv[1]))
