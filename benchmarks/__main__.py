"""Run benchmarks: all of them, or those that are named.

python -m benchmarks [NAME…] [--quick | --short] [--json FILE] [--pages] [--cache FOLDER]
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from . import budgets, machine, pages, registry, show
from .harness import Pace, Skip


def main() -> int:
    """Run what is asked for; 1 if a benchmark broke. A missed budget is marked and is no failure."""
    given = arguments()
    if given.list:
        print("\n".join(f"{name:<12} {question}" for name, question in registry.QUESTIONS.items()))
        return 0
    pace = Pace("quick" if given.quick else "short" if given.short else "full", given.cache, given.data)
    found = run(given.names or list(registry.QUESTIONS), pace)
    verdicts = budgets.judge(budgets.read(), found["comparisons"])
    chosen = [one for one in verdicts if one.met is not None or not given.names]
    print("\n".join(["", *show.verdict_lines(chosen)]))
    for name, why in found["skipped"].items():
        print(f"skipped: {name}: {why}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if given.pages:
        pages.RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
        pages.write(found)
    return 1 if found["broken"] else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure ratios, interleaved.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *registry.QUESTIONS], help="see --list")
    parser.add_argument("--list", action="store_true", help="say which benchmarks there are")
    speed = parser.add_mutually_exclusive_group()
    speed.add_argument("--quick", action="store_true", help="two rounds of small things, to see that it works")
    speed.add_argument("--short", action="store_true", help="everything, in at most 15 minutes on a quiet machine")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file")
    parser.add_argument("--pages", action="store_true", help="write the pages of the documentation from this run")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", default=Pace().cache, help="what is downloaded")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="tools and queries for toolsearch")
    given = parser.parse_args()
    if given.pages and (given.names or given.quick):
        parser.error("--pages needs the numbers of all benchmarks: name none, and leave --quick out")
    return given


def run(names: list[str], pace: Pace) -> dict[str, Any]:
    """Run benchmarks one after the other, and print each comparison when it is there."""
    comparisons: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    broken: dict[str, str] = {}
    about = {"machine": machine.describe(), "versions": machine.versions(), "commit": machine.commit()}
    began = time.monotonic()
    for name in names:
        before = time.monotonic()
        try:
            for comparison in registry.load(name)(pace):
                comparisons.append(comparison.data())
                print("\n".join(show.comparison_lines(comparisons[-1])), flush=True)
        except Skip as reason:
            skipped[name] = str(reason)
            print(f"{name} is skipped: {reason}", flush=True)
        except Exception as error:
            broken[name] = f"{type(error).__name__}: {error}"[:500]
            traceback.print_exc()
        print(f"({name} took {time.monotonic() - before:.0f} s)\n", flush=True)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    took = round(time.monotonic() - began)
    found = {"date": date, "pace": pace.name, "seconds": took, **about, "comparisons": comparisons}
    return {**found, "skipped": skipped, "broken": broken}


if __name__ == "__main__":
    sys.exit(main())
