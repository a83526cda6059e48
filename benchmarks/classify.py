"""What it costs to understand a command, against a bare tree-sitter parse of the same commands.

Run `python benchmarks/classify.py`, or with `--json` for programs. The commands are those of the tests; both sides take
turns, and of the rounds the fastest is kept for each command, so that a busy machine matters little. Each command is
read as if for the first time: nothing that is kept between calls helps. Commands in the closed subset and those about
which bash itself is asked are told apart.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tree_sitter_bash
from tree_sitter import Language, Parser

from pegboard_bash import canonical, second_reading, tree
from pegboard_bash.tree import LONGEST
from pegboard_bash.understanding import understand

ROUNDS = 15
CORPUS = Path(__file__).parent.parent / "plugins" / "shell" / "bash" / "tests" / "data" / "commands.jsonl"
GOAL_US = 300


def commands() -> list[str]:
    """The corpus without the few commands that exist to be too long."""
    rows = [json.loads(line)["command"] for line in CORPUS.read_text().splitlines()]
    return [command for command in rows if len(command) <= LONGEST // 10]


def fastest(act: Callable[[str], object], given: list[str], best: list[float]) -> None:
    for at, command in enumerate(given):
        began = time.perf_counter_ns()
        act(command)
        best[at] = min(best[at], (time.perf_counter_ns() - began) / 1000)


def anew(command: str, folder: str) -> None:
    """Understand a command that was never seen before."""
    second_reading.second_reading.cache_clear()
    canonical.problem_with_bash.cache_clear()
    tree._tree.cache_clear()
    understand(command, folder)


def report() -> dict[str, float]:
    """Medians and 95th percentiles in microseconds, and the ratio of the medians."""
    given = commands()
    parser = Parser(Language(tree_sitter_bash.language()))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True, env={"PATH": os.environ["PATH"], "HOME": folder})
        acts: dict[str, Callable[[str], object]] = {
            "understand": lambda command: anew(command, folder),
            "parse": lambda command: parser.parse(command.encode("utf-8", "surrogateescape")),
        }
        best = {name: [float("inf")] * len(given) for name in acts}
        for _ in range(ROUNDS):
            for name, act in acts.items():
                fastest(act, given, best[name])
    found: dict[str, float] = {}
    plain = [second_reading.is_plain(command) for command in given]
    asked = [second_reading.needs_bash(command) for command in given]
    best["understand, closed subset"] = [us for us, each in zip(best["understand"], plain, strict=True) if each]
    best["understand, bash asked"] = [us for us, each in zip(best["understand"], asked, strict=True) if each]
    for name, times in best.items():
        found[f"{name}: median, us"] = statistics.median(times)
        found[f"{name}: p95, us"] = statistics.quantiles(times, n=20)[-1]
    found["understand / parse"] = found["understand: median, us"] / found["parse: median, us"]
    found["closed subset: share of the goal"] = found["understand, closed subset: median, us"] / GOAL_US
    return {name: round(value, 3) for name, value in found.items()}


if __name__ == "__main__":
    found = report()
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        for name, value in found.items():
            sys.stdout.write(f"{value:10.2f}  {name}\n")
