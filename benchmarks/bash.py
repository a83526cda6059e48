"""What a call of Bash costs, against the same command through `subprocess.run`.

A call is validated, understood, permitted, run in its own session with its output in a file, and looked after until
nothing of it is left. Both sides take turns, in wall-clock time, because most of it is waiting for the shell.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator

import anyio

from pegboard import Board, Call
from pegboard.settings import load

from .harness import Comparison, Pace, Samples

COMMANDS = {"true": "true", "cd": "cd .", "output": "seq 1 2000"}


async def measured(act: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await act()
    return time.perf_counter() - began


def plain(command: str, folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=True)
    return time.perf_counter() - began


async def rows(rounds: int, folder: str) -> Samples:
    env = {"HOME": folder, "PATH": os.environ["PATH"]}
    board = Board.load(settings=load(folder, env), env=env)
    ctx = board.context()
    found: Samples = {}
    for number in range(rounds + 1):
        for name, command in COMMANDS.items():
            call = Call("1", "Bash", {"command": command})
            result = await board.dispatch(call, ctx)
            assert not result.is_error, result.text
            taken = {
                f"subprocess.run: {name}": plain(command, folder),
                f"Bash: {name}": await measured(lambda call=call: board.dispatch(call, ctx)),  # type: ignore[misc]
            }
            for case, seconds in taken.items():
                if number:  # The first round warms caches.
                    found.setdefault(case, []).append(seconds)
    return found


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """One comparison for each command."""
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(rows, pace.rounds(100), folder)
    for name, command in COMMANDS.items():
        samples = {case: found[f"{case}: {name}"] for case in ("subprocess.run", "Bash")}
        yield Comparison(f"bash/{name}", f"`{command}`", samples, "subprocess.run")
