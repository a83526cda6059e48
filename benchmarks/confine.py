"""What a confined Bash call costs, against the same call unconfined.

Both are whole calls: validated, understood, permitted, run and looked after. The unconfined one is allowed by a rule,
so that nothing holds it. They take turns, with a pause before each, because an agent's calls are not back to back.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator

import anyio

from pegboard import Board, Call
from pegboard.settings import Layer, Settings, load
from pegboard_confine import available

from .harness import Comparison, Pace, Samples, Skip

PAUSE = 0.01
COMMANDS = {"true": "true", "output": "seq 1 2000"}


async def rows(rounds: int, folder: str) -> Samples:
    """Seconds for each call."""
    env = {"HOME": folder, "PATH": os.environ["PATH"]}
    board = Board.load(settings=load(folder, env), env=env)
    ctx = board.context()
    allow = [f"Bash({command})" for command in COMMANDS.values()]
    allowing = Settings([Layer("user", "benchmark", {"permissions.allow": allow}), *ctx.settings.layers], cwd=folder)
    contexts = {"unconfined": board.context(settings=allowing), "confined": ctx}
    found: Samples = {}
    for number in range(rounds + 3):
        for name, command in COMMANDS.items():
            for way, where in contexts.items():
                await anyio.sleep(PAUSE)
                began = time.perf_counter()
                result = await board.dispatch(Call("1", "Bash", {"command": command}), where)
                taken = time.perf_counter() - began
                assert not result.is_error, result.text
                assert result.decision is not None
                assert (result.decision.layer == "read-only") is (way == "confined")
                if number >= 3:  # The first rounds warm caches.
                    found.setdefault(f"{way}: {name}", []).append(taken)
    return found


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """One comparison for each command."""
    how = available()
    if not how:
        raise Skip(f"nothing can be confined here: {how.why}")
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(rows, pace.rounds(150), os.path.realpath(folder))
    for name, command in COMMANDS.items():
        samples = {way: found[f"{way}: {name}"] for way in ("unconfined", "confined")}
        yield Comparison(
            f"confine/{name}", f"a Bash call of `{command}`, confined by {how.name}", samples, "unconfined"
        )
