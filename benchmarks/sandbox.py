"""What a sandboxed process costs, against bubblewrap called by hand.

All start `true` through the same process service and
take turns. Two sandboxes by hand are beside ours: one with the mounts that everybody would write down, and one with
every mount that ours has, so that what is left is our own share: looking, planning and noting. Half of our starts find
the stand-ins for missing paths from the start before, the other half have to make them, as after a pause.
Tidying up happens in a thread of its own when the calls are over, and is not counted.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio

from pegboard import Context, ProcessSpec
from pegboard.settings import Layer, Settings
from pegboard_processes.service import LocalProcesses
from pegboard_sandbox import bubblewrap, hooks

from .harness import Comparison, Pace, Samples, Skip

PLAIN, SAME = "bubblewrap by hand", "bubblewrap by hand, with all our mounts"
OURS, AFRESH, PLAN = "pegboard-sandbox", "pegboard-sandbox, after a pause", "the plan alone"


def by_hand(program: str, folder: Path) -> tuple[str, ...]:
    """A sandbox as one would write it down: the disk read-only, one folder writable, no network."""
    mounts: bubblewrap.Mounts = {
        "/dev": bubblewrap.DEV,
        "/proc": bubblewrap.PROC,
        "/tmp": bubblewrap.own("/tmp"),
        str(folder): bubblewrap.writable(str(folder)),
    }
    return (*bubblewrap.command(program, mounts, str(folder), network=False), "true")


async def measure(rounds: int, folder: Path, program: str) -> Samples:
    """Seconds for each way to start `true`, one after the other in each round."""
    ctx = Context(folder, settings=Settings([Layer("user", "user", {"sandbox.enabled": True})], cwd=str(folder)))
    spec = ProcessSpec(("true",), folder, env=dict(os.environ), writable=(folder,), keep_output=False)

    async def wrap(spec: ProcessSpec) -> ProcessSpec:
        return hooks.wrap_process(spec, ctx) or spec

    first = hooks.wrap_process(spec, ctx)
    assert first is not None
    plain, boxed = LocalProcesses(), LocalProcesses(wrap=wrap)
    manual = ProcessSpec(by_hand(program, folder), folder, keep_output=False)
    same = ProcessSpec(first.argv, folder, keep_output=False)

    cases: dict[str, Callable[[], Awaitable[object]]] = {
        "no sandbox": lambda: plain.run(spec),
        PLAIN: lambda: plain.run(manual),
        SAME: lambda: plain.run(same),
        OURS: lambda: boxed.run(spec),
        AFRESH: lambda: boxed.run(spec),
    }
    rows: Samples = {name: [] for name in (*cases, PLAN)}
    for number in range(rounds + 3):
        for name, act in cases.items():
            if name == AFRESH:
                for missing in first_missing(first.argv):
                    os.rmdir(missing)
            began = time.perf_counter()
            await act()
            if number >= 3:  # The first rounds warm caches.
                rows[name].append(time.perf_counter() - began)
        began = time.perf_counter()
        planned = hooks.wrap_process(spec, ctx)
        rows[PLAN].append(time.perf_counter() - began)
        if planned and planned.on_end:
            planned.on_end()
    rows[PLAN] = rows[PLAN][3:]
    if first.on_end:
        first.on_end()
    return rows


def first_missing(argv: tuple[str, ...]) -> list[str]:
    """The stand-ins that bubblewrap has made at the top of the project."""
    return [argv[at + 3] for at, word in enumerate(argv) if argv[at : at + 2] == ("--perms", "0555")]


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Every way to start `true`, against bubblewrap by hand with the same mounts."""
    program = bubblewrap.find()
    if problem := bubblewrap.trouble(program):
        raise Skip(f"no sandbox can be made here: {problem}")
    kept = os.environ.get("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory() as made:
        os.environ["XDG_STATE_HOME"] = f"{made}/state"
        folder = Path(made, "project").resolve()
        folder.mkdir()
        samples = anyio.run(measure, pace.rounds(60), folder, str(program))
        hooks.tidy()
    os.environ.pop("XDG_STATE_HOME")
    if kept is not None:
        os.environ["XDG_STATE_HOME"] = kept
    yield Comparison("sandbox/true", "starting `true`", samples, SAME)
