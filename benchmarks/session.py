"""What a request costs after many turns, against serialising its messages, and how the memory of a session grows.

The session is a process of its own (`python -m benchmarks.session URL TURNS`), so that neither its CPU time nor its
memory contains the server. Its tool notes the CPU time between two calls: reading the answer, running the call, and
making and sending the next request.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from pegboard import Board, Context, Input, tool
from pegboard_anthropic import AnthropicProvider
from pegboard_session import Session, Transcript
from tests.sse import Events, Request, SseServer, message, text, tool_use

from .harness import CPU, MEMORY, Comparison, Pace, Samples, cpu

TURNS = 2_000
SAMPLES = 20
"""How many turns are measured at each point."""
MARKS = (20, 200, 500, 1_000, 2_000)
RESULT = "a line of a file that was read\n" * 20


class NoteInput(Input):
    """Nothing that matters."""

    number: int


class Notes:
    """What the tool writes down."""

    def __init__(self, marks: list[int]) -> None:
        self.marks = marks
        self.costs: dict[int, list[float]] = {mark: [] for mark in marks}
        self.dumps: dict[int, list[float]] = {mark: [] for mark in marks}
        self.memory: dict[int, float] = {}
        self.session: Session | None = None
        self._last, self._turns = time.process_time(), 0

    def note(self) -> None:
        """After each turn; near a mark, what the turn cost and what serialising would."""
        taken = time.process_time() - self._last
        self._turns += 1
        for mark in self.marks:
            if mark - SAMPLES < self._turns <= mark:
                assert self.session
                messages = self.session.conversation.messages
                self.costs[mark].append(taken)
                self.dumps[mark].append(cpu(lambda m=messages: json.dumps(m).encode()))  # type: ignore[misc]
        if self._turns in self.marks:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.memory[self._turns] = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        self._last = time.process_time()


async def converse(url: str, marks: list[int], folder: str) -> Notes:
    """One prompt that takes as many turns as the last mark says."""
    notes = Notes(marks)

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Note(args: NoteInput, ctx: Context) -> str:
        """Write down what the turn has cost."""
        notes.note()
        return RESULT

    env = {"HOME": folder, "PATH": os.environ["PATH"]}
    board = Board.load(cwd=folder, env=env, settings={"compaction": {"automatic": False}}, tools=[Note])
    provider = AnthropicProvider(base_url=url, api_key="k")
    transcript = Transcript(Path(folder, "transcript.jsonl"))
    async with Session(
        board, provider, model="claude-sonnet-4-5", transcript=transcript, max_turns=marks[-1] + 5
    ) as session:
        notes.session = session
        await session.run("Go")
    await provider.aclose()
    return notes


def measured(marks: list[int]) -> dict[str, Any]:
    """The notes of a session in another process, which asks a server in this one."""
    asked = 0

    def answer(request: Request) -> Events:
        nonlocal asked
        asked += 1
        server.requests.clear()  # They would fill the memory: each holds the whole conversation.
        if asked > marks[-1]:
            return message(text("Done."))
        return message(tool_use("Note", {"number": asked}, id=f"c{asked}"))

    with SseServer(answer) as server, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.session", server.url, json.dumps(marks), folder]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """A request against serialising, and two trends."""
    marks = [mark for mark in MARKS if mark <= pace.size(TURNS, 200)]
    found = measured(marks)
    last = str(marks[-1])
    samples: Samples = {"json.dumps": found["dumps"][last], "a turn": found["costs"][last]}
    yield Comparison("session/request", f"a turn after {marks[-1]:,} turns", samples, "json.dumps", CPU)
    points = {f"{mark:,} turns": float(mark) for mark in marks}
    first = next(iter(points))
    costs = {f"{mark:,} turns": found["costs"][str(mark)] for mark in marks}
    yield Comparison("session/turns", "one turn of a long session", costs, first, CPU, axis="turns", points=points)
    memory = {f"{mark:,} turns": [found["memory"][str(mark)]] for mark in marks}
    yield Comparison("session/memory", "a long session", memory, first, MEMORY, axis="turns", points=points)


if __name__ == "__main__":
    written = anyio.run(converse, sys.argv[1], json.loads(sys.argv[2]), sys.argv[3])
    print(json.dumps({"costs": written.costs, "dumps": written.dumps, "memory": written.memory}))
