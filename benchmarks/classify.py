"""What it costs to understand a command, against a bare tree-sitter parse of the same commands.

The commands are those of the tests; both sides take turns, and of the rounds the fastest is kept for each command, so
that a busy machine matters little: a sample is one command. Each is read as if for the first time: nothing that is kept
between calls helps. Commands in the closed subset and those about which bash itself is asked are told apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import tree_sitter_bash
from tree_sitter import Language, Parser

from pegboard_bash import canonical, second_reading, tree
from pegboard_bash.tree import LONGEST
from pegboard_bash.understanding import understand

from .harness import Comparison, Pace

CORPUS = Path(__file__).parent.parent / "plugins" / "shell" / "bash" / "tests" / "data" / "commands.jsonl"


def commands() -> list[str]:
    """The corpus without the few commands that exist to be too long."""
    rows = [json.loads(line)["command"] for line in CORPUS.read_text().splitlines()]
    return [command for command in rows if len(command) <= LONGEST // 10]


def fastest(act: Callable[[str], object], given: list[str], best: list[float]) -> None:
    for at, command in enumerate(given):
        began = time.perf_counter_ns()
        act(command)
        best[at] = min(best[at], (time.perf_counter_ns() - began) / 1e9)


def anew(command: str, folder: str) -> None:
    """Understand a command that was never seen before."""
    second_reading.second_reading.cache_clear()
    canonical.problem_with_bash.cache_clear()
    tree._tree.cache_clear()
    understand(command, folder)


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Understanding against parsing, for all commands and for two kinds of them."""
    given = commands()[:: pace.size(1, 20)]
    parser = Parser(Language(tree_sitter_bash.language()))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True, env={"PATH": os.environ["PATH"], "HOME": folder})
        acts: dict[str, Callable[[str], object]] = {
            "parse": lambda command: parser.parse(command.encode("utf-8", "surrogateescape")),
            "understand": lambda command: anew(command, folder),
        }
        best = {name: [float("inf")] * len(given) for name in acts}
        for _ in range(pace.rounds(15)):
            for name, act in acts.items():
                fastest(act, given, best[name])
    kinds = {
        "all": [True] * len(given),
        "closed-subset": [second_reading.is_plain(command) for command in given],
        "bash-asked": [second_reading.needs_bash(command) for command in given],
    }
    for kind, flags in kinds.items():
        samples = {name: [t for t, each in zip(times, flags, strict=True) if each] for name, times in best.items()}
        if samples["parse"]:
            yield Comparison(
                f"classify/{kind}", f"shell commands of the tests, {kind.replace('-', ' ')}", samples, "parse"
            )
