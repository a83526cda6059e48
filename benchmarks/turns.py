"""What a call costs in a turn, and how soon a turn is over when tools run while the model still writes.

1. CPU of a call, alone and as one of 1,000 in a turn, against `model_validate_json` and `await` of the same tool.
2. Blocking tools: the same against `anyio.to_thread.run_sync`.
3. Streams: wall time of turns whose blocks arrive over time, from a loopback server through the Anthropic provider.
   The reference is the least that is possible: the pauses and the calls that cannot overlap.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import anyio
from anyio import to_thread

from pegboard import Board, Call, Context, Input, tool
from pegboard.execution.turn import run_calls
from pegboard.settings import Settings
from pegboard_anthropic import AnthropicProvider
from pegboard_session import Session
from tests.sse import SseServer, message, text, tool_use

from .harness import CPU, Comparison, Pace, Samples

CALLS = 1000
RAW = b'{"path":"src/app.py","offset":10,"limit":200}'


class NoopInput(Input):
    path: str
    offset: int = 1
    limit: int = 10


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Noop(args: NoopInput, ctx: Context) -> str:
    """Do nothing."""
    return args.path


@tool(read_only=True, concurrency_safe=True, open_world=False)
def Blocking(args: NoopInput, ctx: Context) -> str:
    """Do nothing, in a thread."""
    return args.path


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Second(args: NoopInput, ctx: Context) -> str:
    """Take a while."""
    await anyio.sleep(float(args.path))
    return "done"


def board(folder: str) -> Board:
    return Board(Settings(cwd=folder), [], tools=[Noop, Blocking, Second], env={"HOME": folder})


async def cpu(rounds: int, folder: str) -> Samples:
    made = board(folder)
    ctx = made.context()
    calls = [Call(str(i), "Noop", RAW) for i in range(CALLS)]
    blocking = [Call(str(i), "Blocking", RAW) for i in range(CALLS // 10)]
    args = NoopInput(path="a")
    rows: Samples = {}

    async def measured(name: str, count: int, work: Any) -> None:
        gc.collect()
        began = time.process_time()
        await work()
        rows.setdefault(name, []).append((time.process_time() - began) / count)

    async def bare() -> None:
        for _ in range(CALLS):
            await Noop.call(NoopInput.model_validate_json(RAW), ctx)

    async def threads() -> None:
        for _ in blocking:
            await to_thread.run_sync(Blocking.call, args, ctx)

    async def alone() -> None:
        for call in calls:
            await made.dispatch(call, ctx)

    for _ in range(rounds + 1):
        await measured("validate + await", CALLS, bare)
        await measured("a call alone", CALLS, alone)
        await measured("a call in a turn", CALLS, lambda: run_calls(made, calls, ctx))
        await measured("to_thread.run_sync", len(blocking), threads)
        await measured("a blocking call in a turn", len(blocking), lambda: run_calls(made, blocking, ctx))
    return {name: times[1:] for name, times in rows.items()}


async def stream(delays: list[float], durations: list[float], end: float, folder: str) -> tuple[float, float]:
    """Seconds from the request, and from the end of the message, to the arrival of the next request."""
    blocks = [
        (pause, tool_use("Second", {"path": str(seconds)}, id=f"c{i}"))
        for i, (pause, seconds) in enumerate(zip(delays, durations, strict=True))
    ]
    warm_up = [message(text("warm"))]
    with SseServer([*warm_up, message(*blocks, end_pause=end), message(text("done"))]) as server:
        provider = AnthropicProvider(base_url=server.url, api_key="k")
        async with Session(board(folder), provider, model="m") as session:
            await session.run("Warm up.")
            await session.run("Go")
        await provider.aclose()
        _, first, second = server.requests
    return second.arrived - first.arrived, second.arrived - (first.message_end or 0.0)


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Calls by CPU time, streams by wall-clock time."""
    with tempfile.TemporaryDirectory() as folder:
        rows = anyio.run(cpu, pace.rounds(15), folder)
        names = ("validate + await", "a call alone", "a call in a turn")
        title = f"a no-op async call; a turn has {CALLS:,} of them"
        yield Comparison("turns/noop", title, {name: rows[name] for name in names}, names[0], CPU)
        names = ("to_thread.run_sync", "a blocking call in a turn")
        yield Comparison("turns/blocking", "a blocking no-op call", {name: rows[name] for name in names}, names[0], CPU)
        yield streams(pace, folder)
        yield late_end(pace, folder)


def streams(pace: Pace, folder: str) -> Comparison:
    """Two 0.5 s calls, whose blocks come at 0.0 and 0.3 s, in a message that ends at 0.6 s."""
    taken = [anyio.run(stream, [0.0, 0.3], [0.5, 0.5], 0.3, folder)[0] for _ in range(pace.rounds(5))]
    title = "two 0.5 s calls, blocks at 0.0 and 0.3 s: request to next request"
    return Comparison("turns/stream", title, {"possible": [0.8] * len(taken), "a turn": taken}, "possible")


def late_end(pace: Pace, folder: str) -> Comparison:
    """Four 1 s calls, whose blocks come 1 s apart."""
    taken = [anyio.run(stream, [0.0, 1.0, 1.0, 1.0], [1.0] * 4, 0.0, folder)[1] for _ in range(pace.rounds(3))]
    title = "four 1 s calls, blocks 1 s apart: end of the message to next request"
    return Comparison("turns/late-end", title, {"possible": [1.0] * len(taken), "a turn": taken}, "possible")
