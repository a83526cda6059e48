"""Python frameworks, each in a throw-away environment: import, one trivial tool, and a turn of ten 100 ms tools.

The programs are in `framework_programs/`. A model that plays a script calls the same tool in each of them; MCP has no
model, so a client calls the tools of a server in its own process. The processes take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .harness import CPU, WALL, Comparison, Pace, Samples, Skip, cpu_of_process
from .installed import python_environment

PROGRAMS = Path(__file__).with_name("framework_programs")
FLOOR = "floor: pydantic, await"
OURS = {
    FLOOR: ("floor", "from pydantic import BaseModel\nclass A(BaseModel): x: int"),
    "pegboard": (
        "pegboard",
        "from pegboard import Board, Input, tool; from pegboard_session import ReplayProvider, Session",
    ),
}
"""What this environment has: the program, and what it imports; names, because modules may load them on first use."""
THEIRS = {
    "llm": ("llm", "llm", "from llm import AsyncModel"),
    "pydantic-ai": ("pydantic-ai-slim", "pydantic_ai", "from pydantic_ai import Agent"),
    "openai-agents": ("openai-agents", "openai_agents", "from agents import Agent, Runner, function_tool"),
    "langchain": ("langchain", "langchain", "from langchain.agents import create_agent"),
    "anthropic tool runner": ("anthropic", "anthropic", "from anthropic import AsyncAnthropic, beta_async_tool"),
    "mcp": ("mcp", "mcp", "from mcp import Client; from mcp.server import MCPServer"),
    "fastmcp": ("fastmcp", "fastmcp", "from fastmcp import Client, FastMCP"),
    "smolagents": ("smolagents", "smolagents", "from smolagents import ToolCallingAgent, tool"),
}
"""The package, the program, and what it imports."""
VERSION = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Three comparisons of everything that can be installed here."""
    pythons, notes = environments(pace.cache)
    found: dict[str, Samples] = {kind: {name: [] for name in pythons} for kind in ("import", "call", "ten")}
    for _ in range(pace.rounds(9)):
        for name, (python, program, imports) in list(pythons.items()):
            try:
                numbers = one_round(python, program, imports, pace.size(5, 1))
            except (RuntimeError, subprocess.CalledProcessError) as error:
                notes.append(f"{name} is left out: {error}"[:400])
                del pythons[name]
                continue
            for kind, value in numbers.items():
                found[kind][name].append(value)
    kept = {kind: {name: samples[name] for name in pythons} for kind, samples in found.items()}
    yield Comparison("frameworks/import", "import in a new process", kept["import"], FLOOR, CPU, notes=notes)
    yield Comparison("frameworks/call", "one more call of a trivial async tool in a turn", kept["call"], FLOOR, CPU)
    yield Comparison("frameworks/ten", "a turn of ten tools that take 100 ms each", kept["ten"], FLOOR, WALL)


def environments(cache: Path) -> tuple[dict[str, tuple[str, str, str]], list[str]]:
    """The interpreter, program and imports of each framework, and notes about versions and what is missing."""
    pythons = {name: (sys.executable, *more) for name, more in OURS.items()}
    notes = []
    for name, (package, program, imports) in THEIRS.items():
        try:
            python = python_environment(package, cache)
        except Skip as reason:
            notes.append(f"{name} is skipped: {reason}")
            continue
        pythons[name] = python, program, imports
        done = subprocess.run([python, "-c", VERSION, package], capture_output=True, text=True, check=True)
        notes.append(f"{name} {done.stdout.strip()}")
    return pythons, notes


def one_round(python: str, program: str, imports: str, repeats: int) -> dict[str, float]:
    """The numbers of one framework."""
    taken = cpu_of_process([python, "-c", imports])
    command = [python, str(PROGRAMS / f"use_{program}.py"), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    numbers: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {"import": taken, **numbers}
