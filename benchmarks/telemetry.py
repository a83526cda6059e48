"""What a call costs with the telemetry plugin where nothing records spans, and with an SDK that does.

Each round makes the same calls on a board with the plugin and on one without, alternating. The last case needs
opentelemetry-sdk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import anyio

import pegboard_telemetry
from pegboard import Board, Call, Context, Input, Settings, tool

from .harness import CPU, Comparison, Pace, Samples


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
    """CPU seconds for each call."""
    ctx, call = board.context(), Call("1", "Ping", {})
    began = time.process_time()
    for _ in range(calls):
        await board.dispatch(call, ctx)
    return (time.process_time() - began) / calls


async def compare(pace: Pace, calls: int) -> Samples:
    """The same calls on a board without the plugin and on one with it."""
    boards = {"without": board(), "with": board(pegboard_telemetry)}
    samples: Samples = {name: [] for name in boards}
    for number in range(pace.rounds(15) + 1):
        for name, made in boards.items():
            taken = await cost(made, calls)
            if number:  # The first round warms caches.
                samples[name].append(taken)
    return samples


def record() -> None:
    """Set a provider that records spans and drops them."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    trace.set_tracer_provider(provider)


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Without an exporter, and with an SDK that records where there is one."""
    calls = pace.size(3_000, 100)
    import opentelemetry.trace  # noqa: F401 - a program that traces has it

    samples = anyio.run(compare, pace, calls)
    yield Comparison("telemetry/call", "a call where nothing records spans", samples, "without", CPU)
    if find_spec("opentelemetry.sdk"):
        record()
        samples = anyio.run(compare, pace, max(calls // 10, 1))
        yield Comparison("telemetry/recorded", "a call whose spans are recorded", samples, "without", CPU)
