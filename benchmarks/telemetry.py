"""What a call costs with the telemetry plugin where nothing records spans, and with an SDK that does.

    python benchmarks/telemetry.py [--calls 3000]

Each round makes the same calls on a board with the plugin and on one without, alternating. Prints microseconds for each
call, and how many the plugin adds. The goal without an exporter is 5 µs. The last case needs opentelemetry-sdk.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from importlib.util import find_spec
from typing import Any

import anyio

import pegboard_telemetry
from pegboard import Board, Call, Context, Input, Settings, tool


class Nothing(Input):
    """No fields."""


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Ping(args: Nothing, ctx: Context) -> str:
    """Answer."""
    return "pong"


def board(*plugins: Any) -> Board:
    """A board with one tool."""
    return Board(Settings([], cwd="/"), [], plugins=list(plugins), tools=[Ping])


async def cost(board: Board, calls: int) -> float:
    """CPU microseconds for each call."""
    ctx, call = board.context(), Call("1", "Ping", {})
    began = time.process_time()
    for _ in range(calls):
        await board.dispatch(call, ctx)
    return (time.process_time() - began) / calls * 1e6


async def compare(title: str, rounds: int, calls: int) -> None:
    """Print what the plugin adds."""
    without, with_ = board(), board(pegboard_telemetry)
    rows: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        pair = (await cost(without, calls), await cost(with_, calls))
        if number:  # The first round warms caches.
            rows.append(pair)
    plain, traced = (statistics.median(column) for column in zip(*rows, strict=True))
    added = statistics.median(with_ - without for without, with_ in rows)
    print(f"{title:<32} {plain:8.1f} µs without  {traced:8.1f} µs with  {added:+7.2f} µs")


def record() -> None:
    """Set a provider that records spans and drops them."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    trace.set_tracer_provider(provider)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=3000)
    given = parser.parse_args()
    anyio.run(compare, "nothing imported", given.rounds, given.calls)
    import opentelemetry.trace  # noqa: F401

    anyio.run(compare, "the API, no provider", given.rounds, given.calls)
    if find_spec("opentelemetry.sdk"):
        record()
        anyio.run(compare, "the SDK, batched", given.rounds, max(given.calls // 10, 1))


if __name__ == "__main__":
    main()
