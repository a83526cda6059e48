"""What a call costs in a turn, and how soon a turn is over when tools run while the model still writes.

1. CPU a call: 1,000 no-op calls in one turn against `model_validate_json` and `await` of the same tool.
2. Blocking tools: the same against `anyio.to_thread.run_sync`.
3. Streams: wall time of turns whose blocks arrive over time, from a loopback server through the Anthropic provider.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from harness import options, report

from pegboard import Board, Call, Context, Input, tool
from pegboard.execution.turn import run_calls
from pegboard_session import Session
from pegboard.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

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


async def cpu(rounds: int, folder: str) -> dict[str, list[float]]:
    made = board(folder)
    ctx = made.context()
    calls = [Call(str(i), "Noop", RAW) for i in range(CALLS)]
    blocking = [Call(str(i), "Blocking", RAW) for i in range(CALLS // 10)]
    args = NoopInput(path="a")
    rows: dict[str, list[float]] = {}

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

    for _ in range(rounds + 1):
        await measured("validate + await", CALLS, bare)
        await measured("a call in a turn", CALLS, lambda: run_calls(made, calls, ctx))
        await measured("to_thread.run_sync", len(blocking), threads)
        await measured("a blocking call in a turn", len(blocking), lambda: run_calls(made, blocking, ctx))
    return {name: times[1:] for name, times in rows.items()}


async def stream(delays: list[float], durations: list[float], end: float, folder: str) -> tuple[float, float]:
    """Seconds from the request, and from the end of the message, to the arrival of the next request."""
    from pegboard_anthropic import AnthropicProvider
    from sse import SseServer, message, text, tool_use

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


def main() -> None:
    given = options(rounds=15)
    with tempfile.TemporaryDirectory() as folder:
        rows = anyio.run(cpu, given.rounds, folder)
        first = {name: rows[name] for name in ("validate + await", "a call in a turn")}
        report("CPU of a no-op call, 1,000 in a turn", first, "validate + await", as_json=given.json)
        second = {name: rows[name] for name in ("to_thread.run_sync", "a blocking call in a turn")}
        report("CPU of a blocking call", second, "to_thread.run_sync", as_json=given.json)
        turns = {"floor 0.8 s": [0.8], "two 0.5 s calls at 0.0 and 0.3 s": []}
        afters = {"floor 1.0 s": [1.0], "four 1 s calls, blocks 1 s apart": []}
        for _ in range(3):
            turns["two 0.5 s calls at 0.0 and 0.3 s"].append(anyio.run(stream, [0.0, 0.3], [0.5, 0.5], 0.3, folder)[0])
            afters["four 1 s calls, blocks 1 s apart"].append(
                anyio.run(stream, [0.0, 1.0, 1.0, 1.0], [1.0] * 4, 0.0, folder)[1]
            )
    report("Request to next request", turns, "floor 0.8 s", as_json=given.json)
    report("End of message to next request", afters, "floor 1.0 s", as_json=given.json)


if __name__ == "__main__":
    main()
