"""Agent command lines, driven by one scripted API on loopback: start, tools, exit, memory.

Each program is one process per round, and the programs take turns. Measured are, from outside: the time from the start
of the process to its first request; from the end of a message that calls tools to the next request; from the last byte
to the end of the process; and memory. Where bubblewrap works, everything runs in a network namespace of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .agent_programs import PEERS, Program, pegboard
from .harness import CPU, MEMORY, WALL, Comparison, Pace, Skip
from .installed import npm_package
from .search import grow

ROOT = Path(__file__).resolve().parents[1]
TURNS = 200
FILES = 4_700
REFERENCE = "claude code"
TITLES = {
    "start": "start of the process to its first request",
    "start, CPU": "start of the process to its first request, CPU",
    "exit": "last byte to the end of the process",
    "peak memory": "peak memory",
    "first Bash": "first Bash call of a process",
    "first Read": "first Read",
    "first Edit": "first Edit",
    "first Write": "first Write",
    "first Grep": "first Grep over {files:,} files",
    "first Glob": "first Glob `**/*.py` over {files:,} files",
    "Read": "later Read",
    "Read, 2,000 lines": "later Read of 2,000 lines",
    "Bash `true`": "later Bash `true`",
    "Edit": "later Edit",
    "Write": "later Write",
    "Grep": "later Grep over {files:,} files",
    "Glob": "later Glob `**/*.py` over {files:,} files",
    "10 Reads": "10 Reads in one message",
    "10 Bash `true`": "10 Bash `true` in one message",
    "10 Edits": "10 Edits of 10 files in one message",
    "overlap": "a 0.5 s call in a message that ends 0.5 s after it: request to next request",
}
"""What the samples are called, and what the tables say."""
LONG = {"turn": "one of {turns} turns with a Read", "memory": "memory after {turns} turns"}


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """The table of all programs that can be installed here."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        programs, notes = found_programs(home, pace.cache)
        work = home / "work"
        sizes = {"files": pace.size(FILES, 400), "turns": pace.size(TURNS, 3)}
        grow(work / "tree", sizes["files"], 20)
        prefix, note = isolation()
        notes += note
        asked = {"folder": str(work), "programs": [program.data() for program in programs], "turns": 0}
        rounds = {"rounds": pace.size(pace.rounds(12), 1), "warm": pace.size(1, 0), "repeats": pace.size(5, 1)}
        found = play({**asked, **rounds}, home, prefix)
        titles = {label: title.format(**sizes) for label, title in {**TITLES, **LONG}.items()}
        yield from comparisons(found, {label: titles[label] for label in TITLES}, [*notes, *trouble(found)])
        rounds = {"rounds": pace.size(pace.rounds(3) - 2, 1), "warm": 0, "turns": sizes["turns"]}
        found = play({**asked, **rounds}, home, prefix)
        yield from comparisons(found, {label: titles[label] for label in LONG}, trouble(found))


def found_programs(home: Path, cache: Path) -> tuple[list[Program], list[str]]:
    """Ours, and those that npm can install; and notes about versions and about what is missing."""
    programs, notes = [pegboard(home / "pegboard")], []
    for name, (package, script, make) in PEERS.items():
        try:
            path, version = npm_package(package, script, cache)
        except Skip as reason:
            notes.append(f"{name} is skipped: {reason}")
            continue
        programs.append(make(home / script, path))
        programs[-1].version = version
        notes.append(f"{name} {version}")
    return programs, notes


def isolation() -> tuple[list[str], list[str]]:
    """The words before a command that give it a network of its own, if that is permitted here."""
    if bwrap := shutil.which("bwrap"):
        prefix = [bwrap, "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent"]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0:
            return prefix, ["the agents ran in a network namespace of their own"]
    return [], ["the agents ran without a network namespace: bubblewrap is not permitted or not installed"]


def play(asked: dict[str, Any], home: Path, prefix: list[str]) -> dict[str, Any]:
    """Run the script in a process of its own."""
    (home / "asked.json").write_text(json.dumps(asked))
    command = [*prefix, sys.executable, "-m", "benchmarks.agent_play", str(home / "asked.json")]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    if "pegboard" in found["problems"]:
        raise RuntimeError(found["problems"]["pegboard"])
    return found


def trouble(found: dict[str, Any]) -> list[str]:
    return [f"left out: {words}" for words in found["problems"].values()]


def comparisons(found: dict[str, Any], titles: dict[str, str], notes: list[str]) -> Iterator[Comparison]:
    """One for each thing that was measured; the notes are with the first."""
    for label, title in titles.items():
        samples = {name: labels[label] for name, labels in found["samples"].items() if labels.get(label)}
        reference = REFERENCE if REFERENCE in samples else "pegboard"
        measure = MEMORY if "memory" in label else CPU if "CPU" in label else WALL
        name = "agents/" + label.lower().replace("`", "").replace(",", "").replace(" ", "-")
        yield Comparison(name, title, samples, reference, measure, notes=notes)
        notes = []
