"""Measure things that take turns: interleaved rounds, CPU time, medians, ratios against a named reference."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

Measure = Callable[[], float]


def cpu_of_process(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """The CPU seconds (user and system) of a process and its children."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"{command} failed with status {status}")
    return usage.ru_utime + usage.ru_stime


def interleave(cases: Mapping[str, Measure], rounds: int) -> dict[str, list[float]]:
    """Each case once a round, so that a busy machine is busy for all of them."""
    rows: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds + 1):
        for name, measure in cases.items():
            taken = measure()
            if number:  # The first round warms caches.
                rows[name].append(taken)
    return rows


def report(title: str, rows: Mapping[str, list[float]], reference: str, *, as_json: bool) -> None:
    """Print medians and ratios."""
    base = statistics.median(rows[reference])
    table = [
        {
            "case": name,
            "median_ms": round(statistics.median(times) * 1e3, 4),
            "min_ms": round(min(times) * 1e3, 4),
            "ratio": round(statistics.median(times) / base, 3),
        }
        for name, times in rows.items()
    ]
    if as_json:
        print(json.dumps({"title": title, "reference": reference, "rows": table}))
        return
    print(f"{title} (reference: {reference})")
    for row in table:
        print(f"  {row['case']:<44} {row['median_ms']:>10.3f} ms  min {row['min_ms']:>10.3f}  {row['ratio']:>7.2f} x")


def options(rounds: int) -> argparse.Namespace:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()
