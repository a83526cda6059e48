"""What a confined Bash call costs, against the same call unconfined.

Both are whole calls: validated, understood, permitted, run and looked after. The unconfined one is allowed by a rule,
so that nothing holds it. They take turns, with a pause before each, because an agent's calls are not back to back. Run
`python benchmarks/confine.py`, or with `--json` for programs.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time

import anyio
from harness import options, report

from pegboard import Board, Call
from pegboard.settings import load
from pegboard.settings import Layer, Settings
from pegboard_confine import available

GOAL = 1.3
PAUSE = 0.01
COMMANDS = {"true": "true", "output": "seq 1 2000"}


async def rows(rounds: int, folder: str) -> dict[str, list[float]]:
    """Seconds for each call."""
    env = {"HOME": folder, "PATH": os.environ["PATH"]}
    board = Board.load(settings=load(folder, env), env=env)
    ctx = board.context()
    allow = [f"Bash({command})" for command in COMMANDS.values()]
    allowing = Settings([Layer("user", "benchmark", {"permissions.allow": allow}), *ctx.settings.layers], cwd=folder)
    contexts = {"unconfined": board.context(settings=allowing), "confined": ctx}
    found: dict[str, list[float]] = {}
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


def main() -> None:
    """Measure, and say whether the goal is met."""
    given = options(rounds=200)
    how = available()
    if not how:
        raise SystemExit(f"Nothing can be confined here: {how.why}.")
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(rows, given.rounds, os.path.realpath(folder))
    report(f"A call of Bash, confined by {how.name}", found, "unconfined: true", as_json=given.json)
    ratio = statistics.median(found["confined: true"]) / statistics.median(found["unconfined: true"])
    sys.stderr.write(f"confined true: {ratio:.2f} x, goal {GOAL:g} x\n")


if __name__ == "__main__":
    main()
