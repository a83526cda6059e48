"""What permission rules cost: 2,000 rules against 20, 20 rules against none, and resolving a path against realpath.

Run `python benchmarks/rules.py`, or with `--json` for programs. Runs are interleaved and CPU time is counted, so that a
busy machine disturbs all of them alike; of many rounds the median is taken.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pegboard import Context, Facts, Input, Part, tool
from pegboard.paths import resolve_path
from pegboard_rules.opinions import decide_by_rules
from pegboard.settings import Settings, load

ROUNDS, CALLS = 60, 400


class FileInput(Input):
    """A path."""

    file_path: Path


class CommandInput(Input):
    """A command."""

    command: str


class UrlInput(Input):
    """An address."""

    url: str


@tool(name="Read", read_only=True, open_world=False, rule_subject="path", rule_parameter="file_path")
def read(args: FileInput, ctx: Context) -> str:
    """Read."""
    return ""


@tool(name="Write", open_world=False, rule_subject="path", rule_parameter="file_path", capability="edit")
def write(args: FileInput, ctx: Context) -> str:
    """Write."""
    return ""


@tool(name="Bash", rule_subject="command", rule_parameter="command")
def bash(args: CommandInput, ctx: Context) -> str:
    """Run."""
    return ""


@tool(name="WebFetch", read_only=True, rule_subject="host", rule_parameter="url")
def fetch(args: UrlInput, ctx: Context) -> str:
    """Fetch."""
    return ""


SHAPES = (
    ("deny", "Read(./secrets{n}/**)"),
    ("deny", "Read(*.key{n})"),
    ("deny", "Bash(git push{n} *)"),
    ("ask", "Bash(deploy{n}:*)"),
    ("allow", "Edit(/src/module{n}/**/*.py)"),
    ("allow", "Bash(npm run task{n})"),
    ("deny", "Edit(//opt/app{n}/conf/*.toml)"),
    ("ask", "WebFetch(domain:*.host{n}.example)"),
    ("allow", "Bash(make{n}*)"),
    ("deny", "Read(./src/**/private{n}.txt)"),
)


def settings_with(count: int, folder: Path) -> Settings:
    """A project whose settings hold this many rules of ten shapes."""
    project = folder / f"project{count}" / "pkg"
    (project / ".pegboard").mkdir(parents=True)
    rules: dict[str, list[str]] = {"deny": [], "ask": [], "allow": []}
    for number in range(count):
        kind, shape = SHAPES[number % len(SHAPES)]
        rules[kind].append(shape.format(n=number))
    (project / ".pegboard" / "settings.json").write_text(json.dumps({"permissions": rules}))
    (project / "src" / "app").mkdir(parents=True)
    (project / "src" / "app" / "main.py").write_text("")
    return load(project, {"HOME": str(folder)}, trusted=True, managed=str(folder / "none"))


def calls_in(settings: Settings) -> dict[str, Callable[[], object]]:
    """The calls that are timed, for these settings."""
    ctx = Context(Path(settings.cwd), settings)
    path = ctx.cwd / "src" / "app" / "main.py"
    str(path)
    reading = Facts(True, True, False, reads=(path,))
    writing = Facts(open_world=False, reads=(path,), writes=(path,))
    running = Facts(parts=(Part("git status --short", read_only=True), Part("npm run build"), Part("tail -n 5 log")))
    fetching = Facts(True, True, True, hosts=("docs.example.org",))
    nothing = Facts(True, True, False)
    return {
        "read": lambda: decide_by_rules(read, reading, ctx),
        "write": lambda: decide_by_rules(write, writing, ctx),
        "command": lambda: decide_by_rules(bash, running, ctx),
        "fetch": lambda: decide_by_rules(fetch, fetching, ctx),
        "no path": lambda: decide_by_rules(read, nothing, ctx),
        "resolve": lambda: resolve_path(str(path)),
        "realpath": lambda: os.path.realpath(path),
    }


def measure(acts: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Microseconds a call, by name: the median of interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in acts}
    for act in acts.values():
        act()
    for _ in range(ROUNDS):
        for name, act in acts.items():
            began = time.process_time()
            for _ in range(CALLS):
                act()
            times[name].append((time.process_time() - began) / CALLS * 1e6)
    return {name: statistics.median(found) for name, found in times.items()}


def report() -> dict[str, float]:
    """Every ratio, with its two sides."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        acts = {
            f"{what}, {count}": act
            for count in (0, 20, 2000)
            for what, act in calls_in(settings_with(count, folder)).items()
        }
        began = time.process_time()
        acts["read, 2000"]()
        compiling = (time.process_time() - began) * 1000
        times = measure(acts)
    found = {"compiling 2000 rules, ms": compiling}
    found["resolve / realpath"] = times["resolve, 20"] / times["realpath, 20"]
    for what in ("read", "write", "command", "fetch"):
        found[f"{what}: 20 rules, us"] = times[f"{what}, 20"]
        resolving = times["resolve, 20"] if what in ("read", "write") else 0.0
        found[f"{what}: 20 rules beyond resolving, us"] = times[f"{what}, 20"] - resolving
        found[f"{what}: 20 rules beyond none, us"] = times[f"{what}, 20"] - times[f"{what}, 0"]
        found[f"{what}: 2000 rules / 20 rules"] = times[f"{what}, 2000"] / times[f"{what}, 20"]
    return {name: round(value, 3) for name, value in found.items()}


if __name__ == "__main__":
    found = report()
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        for name, value in found.items():
            sys.stdout.write(f"{value:10.2f}  {name}\n")
