"""What a sandboxed process costs, against bubblewrap called by hand with a plain sandbox of the same namespaces.

Run `python benchmarks/sandbox.py`, or with `--json` for programs. Both start `true` through the same process service
and take turns. The difference is what Pegboard adds: protected paths, hidden sockets, the plan. Tidying up happens in
a thread of its own when the calls are over, and is not counted.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from harness import options, report

from pegboard import Context, ProcessSpec
from pegboard.host.processes import LocalProcesses
from pegboard.settings.layers import Layer, Settings
from pegboard_sandbox import bubblewrap, wrapping

GOAL_MS = 3.0


def by_hand(program: str, folder: Path) -> tuple[str, ...]:
    """A sandbox as one would write it down: the disk read-only, one folder writable, no network."""
    mounts: bubblewrap.Mounts = {
        "/dev": ("--dev", "/dev"),
        "/proc": ("--proc", "/proc"),
        "/tmp": bubblewrap.own("/tmp"),
        str(folder): bubblewrap.writable(str(folder)),
    }
    return (*bubblewrap.command(program, mounts, str(folder), network=False), "true")


def without_status(argv: tuple[str, ...]) -> tuple[str, ...]:
    """What the plugin runs, without the shell that opens the status file."""
    words = list(argv[4:])
    at = words.index("--json-status-fd")
    return (*words[:at], *words[at + 2 :])


async def measure(rounds: int, folder: Path, program: str) -> dict[str, list[float]]:
    """Seconds for each way to start `true`, one after the other in each round."""
    ctx = Context(folder, settings=Settings([Layer("user", "user", {"sandbox.enabled": True})], cwd=str(folder)))
    spec = ProcessSpec(("true",), folder, writable=(folder,), keep_output=False)

    async def wrap(spec: ProcessSpec) -> ProcessSpec:
        return wrapping.wrap_process(spec, ctx) or spec

    first = wrapping.wrap_process(spec, ctx)
    assert first is not None
    same = ProcessSpec(without_status(first.argv), folder, keep_output=False)
    plain, boxed = LocalProcesses(), LocalProcesses(wrap=wrap)
    manual = ProcessSpec(by_hand(program, folder), folder, keep_output=False)

    cases: dict[str, Callable[[], Awaitable[object]]] = {
        "no sandbox": lambda: plain.run(spec),
        "bubblewrap by hand": lambda: plain.run(manual),
        "bubblewrap by hand, with all our mounts": lambda: plain.run(same),
        "pegboard-sandbox": lambda: boxed.run(spec),
    }
    rows: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds + 3):
        for name, act in cases.items():
            began = time.perf_counter()
            await act()
            if number >= 3:  # The first rounds warm caches.
                rows[name].append(time.perf_counter() - began)
    return rows


def main() -> None:
    """Measure, and say whether the goal is met."""
    chosen = options(60)
    program = bubblewrap.find()
    if problem := bubblewrap.trouble(program):
        raise SystemExit(f"No sandbox can be made here: {problem}.")
    with tempfile.TemporaryDirectory() as made:
        os.environ["XDG_STATE_HOME"] = f"{made}/state"
        folder = Path(made, "project").resolve()
        folder.mkdir()
        rows = anyio.run(measure, chosen.rounds, folder, str(program))
    report("Starting true", rows, "bubblewrap by hand", as_json=chosen.json)
    for reference in ("bubblewrap by hand", "bubblewrap by hand, with all our mounts"):
        pairs = zip(rows["pegboard-sandbox"], rows[reference], strict=True)
        added = statistics.median(ours - theirs for ours, theirs in pairs) * 1e3
        sys.stderr.write(f"added to {reference}: {added:.2f} ms, goal {GOAL_MS:g} ms\n")


if __name__ == "__main__":
    main()
