"""Measure things that take turns: interleaved rounds, medians, spread, and ratios against a named reference."""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Measure = Callable[[], float]
Samples = dict[str, list[float]]

WALL, CPU, MEMORY, INSTRUCTIONS = "wall-clock time", "CPU time", "memory", "instructions"
UNITS = {WALL: "s", CPU: "s", MEMORY: "MB", INSTRUCTIONS: "instructions"}


CACHE = Path("~/.cache/pegboard-benchmarks").expanduser()


class Skip(Exception):  # noqa: N818 - it is no error
    """Raised by a benchmark that cannot run here; the text says why."""


@dataclass(frozen=True)
class Pace:
    """How long a run may take, and where it keeps what it downloads."""

    name: str = "full"
    """`full`, `short` or `quick`."""
    cache: Path = CACHE
    data: Path | None = None
    """A folder with tools and queries, for `toolsearch`."""

    def rounds(self, full: int) -> int:
        """How many rounds: all, a third of them, or two to see that it works."""
        return {"full": full, "short": max(3, full // 3), "quick": min(2, full)}[self.name]

    def size(self, full: int, quick: int) -> int:
        """How large the thing is that is measured; only a quick run makes it smaller."""
        return quick if self.name == "quick" else full


@dataclass
class Comparison:
    """Samples of several cases that took turns, one of which is the reference."""

    name: str
    """What budgets and pages call it: `subject/what`."""
    title: str
    samples: Samples
    reference: str
    measure: str = WALL
    unit: str = ""
    """Seconds, or whatever the measure has, unless named."""
    axis: str = ""
    """For a trend: what grows from case to case."""
    points: Mapping[str, float] = field(default_factory=dict)
    """For a trend: how much of it each case has."""
    notes: list[str] = field(default_factory=list)

    def row(self, case: str) -> dict[str, Any]:
        """The numbers of one case."""
        times = self.samples[case]
        low, middle, high = quartiles(times)
        ratio = statistics.median(times) / (statistics.median(self.samples[self.reference]) or float("inf"))
        return {"case": case, "median": middle, "low": low, "high": high, "ratio": ratio, "count": len(times)}

    def data(self) -> dict[str, Any]:
        """What is written to the file of a run."""
        return {
            "name": self.name,
            "title": self.title,
            "measure": self.measure,
            "unit": self.unit or UNITS[self.measure],
            "reference": self.reference,
            "rows": [rounded(self.row(case)) for case, times in self.samples.items() if times],
            "axis": self.axis,
            "points": dict(self.points),
            "notes": self.notes,
        }


def quartiles(times: Sequence[float]) -> tuple[float, float, float]:
    """The median with a quarter of the samples below and above; with few samples, the least and the most."""
    if len(times) < 4:
        return min(times), statistics.median(times), max(times)
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return low, middle, high


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Four significant digits are more than any machine repeats."""
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in row.items()}


def peak_memory() -> float:
    """The most megabytes that this process has had. On Linux, `ru_maxrss` begins with what its parent had."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2  # macOS counts in bytes.
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def interleave(cases: Mapping[str, Measure], rounds: int, *, warm: int = 1) -> Samples:
    """Each case once per round, so that a busy machine is busy for all of them."""
    samples: Samples = {name: [] for name in cases}
    for number in range(rounds + warm):
        for name, measure in cases.items():
            taken = measure()
            if number >= warm:  # The first round warms caches.
                samples[name].append(taken)
    return samples


def cpu(act: Callable[[], object], repeats: int = 1) -> float:
    """The CPU seconds of this process for one repeat."""
    began = time.process_time()
    for _ in range(repeats):
        act()
    return (time.process_time() - began) / repeats


def wall(act: Callable[[], object], repeats: int = 1) -> float:
    """The seconds on the wall for one repeat."""
    began = time.perf_counter()
    for _ in range(repeats):
        act()
    return (time.perf_counter() - began) / repeats


def cpu_of_process(command: Sequence[str], env: Mapping[str, str] | None = None, cwd: str | None = None) -> float:
    """The CPU seconds (user and system) of a process and its children."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, cwd=cwd)
    assert process.stderr
    with process.stderr as stream:
        said = stream.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"{command} ended with {process.returncode}: {said.decode(errors='replace')[-2000:]}")
    return usage.ru_utime + usage.ru_stime


Benchmark = Callable[[Pace], Iterator[Comparison]]


def user_environment(home: Path, **more: str) -> dict[str, str]:
    """A person's environment without their settings, and without what slows a start down in a checkout."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM", "TZ") if name in os.environ}
    return {**kept, "HOME": str(home), **more}
