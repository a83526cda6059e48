"""What permission rules cost: 2,000 rules against 20, 20 rules against none, and resolving a path against realpath.

Rounds are interleaved and CPU time is counted, so that a busy machine disturbs all of them alike.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pegboard import Context, Facts, Input, Part, tool
from pegboard.paths import resolve_path
from pegboard.settings import Settings, load
from pegboard_rules.opinions import decide_by_rules

from .harness import CPU, Comparison, Pace, Samples, cpu, interleave

CALLS = 400
COUNTS = (0, 20, 200, 2000)


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


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """A trend for each kind of call, compiling, and resolving a path."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        settings = {count: settings_with(count, folder) for count in COUNTS}
        acts = {count: calls_in(settings[count]) for count in COUNTS}
        cases = {
            f"{what}, {count}": partial(cpu, act, pace.size(CALLS, 20))
            for count in COUNTS
            for what, act in acts[count].items()
        }
        times = interleave(cases, pace.rounds(60))
    for what in ("read", "write", "command", "fetch"):
        yield trend(what, times)
    samples = {"realpath": times["realpath, 20"], "resolve_path": times["resolve, 20"]}
    yield Comparison("rules/resolve", "resolving a path", samples, "realpath", CPU)


def trend(what: str, times: Samples) -> Comparison:
    """A kind of call with more and more rules."""
    samples = {f"{count:,} rules": times[f"{what}, {count}"] for count in COUNTS}
    points = {f"{count:,} rules": float(count) for count in COUNTS}
    title = f"deciding about a call: {what}"
    return Comparison(f"rules/{what}", title, samples, "20 rules", CPU, axis="rules", points=points)
