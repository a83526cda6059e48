"""What listing costs: `pegboard tools --json` with 8 to 1,000 plugins, and the definitions of 8 to 10,000 tools."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from pegboard import Board, Context, Input, tool
from pegboard.settings import Layer, Settings
from pegboard_session import ReplayProvider, Request, Session

from .harness import CPU, Comparison, Measure, Pace, Samples, cpu_of_process, interleave

PLUGINS = (8, 100, 300, 1_000)
TOOLS = (8, 1_000, 10_000)

PLUGIN = '''from pegboard import Context, Input, hookimpl, tool


class T{i}Input(Input):
    file_path: str
    """The text file to count. A relative path starts at the working directory."""
    limit: int = 10
    """How many."""


@tool(read_only=True)
def T{i}(args: T{i}Input, ctx: Context) -> str:
    """Count the lines, words and characters of a text file, number {i}. Use it when you need the size of a text."""
    return args.file_path


@hookimpl
def register_tools():
    return [T{i}]
'''


def install(site: Path, count: int) -> None:
    """Put plugins into a folder as an installer would, only faster."""
    for i in range(count):
        info = site / f"acme_t{i}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-t{i}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[pegboard]\nacme.t{i} = acme_t{i}\n")
        (info / "RECORD").write_text(f"acme_t{i}/__init__.py,,\n")
        (site / f"acme_t{i}").mkdir()
        (site / f"acme_t{i}" / "__init__.py").write_text(PLUGIN.format(i=i))
    old = time.time() - 10
    for path in (site, *site.iterdir()):
        os.utime(path, (old, old))


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Plugins on the command line, and tools in a request."""
    samples = plugins(pace)
    bare = samples.pop(BARE)
    first = next(iter(samples))
    yield Comparison("listing/bare", "warm listing", {BARE: bare, "pegboard tools --json": samples[first]}, BARE, CPU)
    points = {f"{count:,} plugins": float(count) for count in PLUGINS}
    title = "warm `pegboard tools --json`"
    yield Comparison("listing/plugins", title, samples, first, CPU, axis="plugins", points=points)
    yield tools(pace)


BARE = "python -I -c pass"


def plugins(pace: Pace) -> Samples:
    """The command with more and more plugins installed."""
    script = Path(sysconfig.get_path("scripts")) / "pegboard"
    with tempfile.TemporaryDirectory() as folder:
        cases: dict[str, Measure] = {BARE: partial(cpu_of_process, [sys.executable, "-I", "-c", "pass"])}
        for count in PLUGINS[: pace.size(len(PLUGINS), 2)]:
            site = Path(folder) / f"site{count}"
            install(site, count)
            env = {**os.environ, "HOME": folder, "PYTHONPATH": str(site)}
            for variable in ("XDG_CACHE_HOME", "PYTHONDONTWRITEBYTECODE"):
                env.pop(variable, None)  # An installed package has its bytecode; a checkout gets it in the first round.
            command = [sys.executable, str(script), "tools", "--json"]
            cpu_of_process(command, env)
            cases[f"{count:,} plugins"] = partial(cpu_of_process, command, env)
        return interleave(cases, pace.rounds(15))


class WordInput(Input):
    """What every tool of the long list takes."""

    file_path: str
    """The text file to count. A relative path starts at the working directory."""


def many_tools(count: int) -> list[Any]:
    """Tools that differ in their names."""

    def act(args: WordInput, ctx: Context) -> str:
        """Count the lines, words and characters of a text file. Use it when you need the size of a text."""
        return args.file_path

    return [tool(name=f"T{number}", read_only=True)(act) for number in range(count)]


class Counted(ReplayProvider):
    """Notes when the request arrives, in CPU time of the process."""

    asked = 0.0
    """When the last request came."""
    listed = 0
    """How many tools it had."""

    async def stream(self, request: Request) -> Any:
        """The events of one answer."""
        Counted.asked, Counted.listed = time.process_time(), len(request.tools)
        async for event in super().stream(request):
            yield event


def board_with(count: int, folder: str) -> Board:
    """A board with so many tools and nothing else."""
    settings = Settings([Layer("user", "benchmark", {"deferral.mode": "off"})], cwd=folder)
    return Board(settings, [], tools=many_tools(count), env={"HOME": folder})


async def request_cost(board: Board) -> float:
    """CPU seconds from the second prompt of a session to its request."""
    said = {"content": [{"type": "text", "text": "Done."}]}
    async with Session(board, Counted([said, said])) as session:
        await session.run("Warm up")
        began = time.process_time()
        await session.run("Go")
        if Counted.listed < len(board.definitions()):
            raise RuntimeError(f"only {Counted.listed} tools were in the request")
        return Counted.asked - began


def tools(pace: Pace) -> Comparison:
    """What a request costs with more and more tools in it, none of them deferred."""
    counts = TOOLS[: pace.size(len(TOOLS), 2)]
    with tempfile.TemporaryDirectory() as folder:
        cases = {f"{count:,} tools": partial(anyio.run, request_cost, board_with(count, folder)) for count in counts}
        samples = interleave(cases, pace.rounds(9))
    points = {f"{count:,} tools": float(count) for count in counts}
    title = "a prompt to its request, with all tools listed in it"
    return Comparison("listing/tools", title, samples, "8 tools", CPU, axis="tools", points=points)
