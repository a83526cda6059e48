"""What compacting a conversation costs, against serialising it once: the request for the summary has to do that anyway.

The model is played and answers at once, so that what is left is ours: measuring, cutting, wording and writing down.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import anyio

from pegboard import Board
from pegboard_session import ReplayProvider, Session, Transcript

from .harness import CPU, Comparison, Pace, cpu, interleave

TURNS = (20, 200, 2_000)
SUMMARY = {"content": [{"type": "text", "text": "<summary>The port is 48213. Everything else is done.</summary>"}]}


def conversation(turns: int) -> list[dict[str, Any]]:
    """So many turns with a call and its result each."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Go"}]}]
    for number in range(turns):
        use = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"src/file{number}.py"}}
        said = [{"type": "text", "text": f"{number}\tline of a file\n" * 20}]
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": said}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})
    return messages


async def compact(board: Board, turns: int, folder: Path) -> float:
    """CPU seconds of one compaction."""
    transcript = folder / "transcript.jsonl"
    transcript.unlink(missing_ok=True)
    async with Session(board, ReplayProvider([SUMMARY]), transcript=Transcript(transcript)) as session:
        session.conversation.messages.extend(conversation(turns))
        began = process_time()
        done = await session.compact()
        taken = process_time() - began
    if not done.done:
        raise RuntimeError(done.why)
    return taken


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """More and more turns, and the longest conversation against serialising it."""
    counts = TURNS[: pace.size(len(TURNS), 2)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        board = Board.load(cwd=folder, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})
        cases = {f"{turns:,} turns": partial(anyio.run, compact, board, turns, folder) for turns in counts}
        longest = conversation(counts[-1])
        samples = interleave({"json.dumps": lambda: cpu(lambda: json.dumps(longest)), **cases}, pace.rounds(9))
    first, last = f"{counts[0]:,} turns", f"{counts[-1]:,} turns"
    points = {f"{turns:,} turns": float(turns) for turns in counts}
    trend = {name: samples[name] for name in cases}
    yield Comparison("compaction/turns", "compacting", trend, first, CPU, axis="turns", points=points)
    pair = {"json.dumps": samples["json.dumps"], "compaction": samples[last]}
    yield Comparison("compaction/serialising", f"compacting {last}", pair, "json.dumps", CPU)
