"""How long a turn with several agents takes, against the slowest of them alone.

Three agents each make five calls of a tool that takes a while, played by a script with a pause between blocks. If they
run side by side, the turn takes as long as the slowest of them and a little more.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from pegboard import Board, Context, Input, tool
from pegboard.settings import load
from pegboard_session import ReplayProvider, Session

from .harness import Comparison, Pace, interleave

SECONDS = {"quick": 0.05, "steady": 0.1, "slow": 0.15}
CALLS = 5


class NapInput(Input):
    seconds: float


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Nap(args: NapInput, ctx: Context) -> str:
    """Take a while."""
    await anyio.sleep(args.seconds)
    return "done"


def use(name: str, /, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": given}


def script(names: list[str]) -> list[dict[str, Any]]:
    starts = [use("Agent", description=name, prompt="Go", name=name) for name in names]
    turns: list[dict[str, Any]] = [{"content": starts}, {"content": [{"type": "text", "text": "Done."}]}]
    for name in names:
        turns += [{"agent": name, "content": [use("Nap", seconds=SECONDS[name])]} for _ in range(CALLS)]
        turns.append({"agent": name, "content": [{"type": "text", "text": name}]})
    return turns


async def seconds(board: Board, names: list[str]) -> float:
    async with Session(board, ReplayProvider(script(names))) as session:
        began = time.perf_counter()
        await session.run("Go")
        taken = time.perf_counter() - began
    assert session.usage.tools["Nap"].calls == CALLS * len(names)
    return taken


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Three agents in one turn, against the slowest of them alone."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"HOME": str(Path(folder, "home")), "PATH": ""}
        board = Board.load(settings=load(folder, env, managed=folder), env=env, tools=[Nap])
        cases = {
            "the slowest agent alone": partial(anyio.run, seconds, board, ["slow"]),
            "three agents in one turn": partial(anyio.run, seconds, board, list(SECONDS)),
        }
        samples = interleave(cases, pace.rounds(9))
    yield Comparison("subagents/turn", "a turn with agents of five calls each", samples, "the slowest agent alone")
