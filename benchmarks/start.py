"""What each kind of command costs, against `python -I -c pass`: CPU time, and instructions where they can be counted.

`pegboard call Read` is also compared with a script that validates one pydantic model inside `anyio.run`: what no
command can avoid that checks its input and awaits a tool. Instructions are counted with `perf stat`, or with callgrind
where there are no counters; they hardly vary from run to run, so that one run of each is enough.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .harness import CPU, INSTRUCTIONS, Comparison, Measure, Pace, cpu_of_process, interleave, user_environment

BARE = "python -I -c pass"
SCRIPT = """
import anyio
from pydantic import BaseModel

class ReadInput(BaseModel):
    file_path: str
    offset: int = 1
    limit: int = 10

async def main():
    args = ReadInput.model_validate_json('{"file_path": "a.txt"}')
    print(open(args.file_path).read())

anyio.run(main)
"""
COMMANDS = {
    "--version": ["--version"],
    "--help": ["--help"],
    "tools --json": ["tools", "--json"],
    "features": ["features"],
    "settings": ["settings"],
    "why": ["why", "Read", "file_path=a.txt"],
    "call Read": ["call", "Read", "file_path=a.txt"],
    "call Bash": ["call", "Bash", "command=true"],
    "run --replay": ["run", "Go", "--replay", "script.jsonl"],
}
"""One command of each kind: what lists, what decides, what calls, what holds a conversation."""
IMPORTS = {
    "import pegboard": "import pegboard",
    "import Board": "from pegboard import Board",
    "import Session": "from pegboard_session import Session",
}
COUNTED = ("tools --json", "call Read")


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Commands and imports by CPU time, and two of them by instructions."""
    script = str(Path(sysconfig.get_path("scripts")) / "pegboard")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        env = user_environment(folder / "home")
        (folder / "a.txt").write_text("one\ntwo\n")
        (folder / "script.jsonl").write_text(json.dumps({"content": [{"type": "text", "text": "Done."}]}) + "\n")
        (folder / "minimal.py").write_text(SCRIPT)
        bare = [sys.executable, "-I", "-c", "pass"]
        minimal = [sys.executable, str(folder / "minimal.py")]
        commands = {name: [sys.executable, script, *words] for name, words in COMMANDS.items()}
        imports = {name: [sys.executable, "-c", code] for name, code in IMPORTS.items()}

        def measured(given: list[str]) -> Measure:
            return partial(cpu_of_process, given, env, str(folder))

        everything = {BARE: bare, "validate in anyio.run": minimal, **commands, **imports}
        samples = interleave({name: measured(given) for name, given in everything.items()}, pace.rounds(15))
        yield Comparison("start/commands", "a command", {name: samples[name] for name in (BARE, *COMMANDS)}, BARE, CPU)
        yield Comparison("start/imports", "an import", {name: samples[name] for name in (BARE, *IMPORTS)}, BARE, CPU)
        pair = {"validate in anyio.run": samples["validate in anyio.run"], "call Read": samples["call Read"]}
        yield Comparison("start/call", "a call on the command line", pair, "validate in anyio.run", CPU)
        if pace.name != "quick":
            counted = {BARE: bare, "validate in anyio.run": minimal, **{name: commands[name] for name in COUNTED}}
            yield from instructions(counted, env, folder)


def instructions(commands: dict[str, list[str]], env: dict[str, str], folder: Path) -> Iterator[Comparison]:
    """How many instructions commands need; nothing where they cannot be counted."""
    for count in (count_with_perf, count_with_callgrind):
        found = {name: count(command, env, folder) for name, command in commands.items()}
        if all(found.values()):
            samples = {name: [value] for name, value in found.items() if value}
            how = count.__name__.rpartition("_")[2]
            note = f"counted with {how}"
            yield Comparison("start/instructions", "a command", samples, BARE, INSTRUCTIONS, notes=[note])
            return
    print("start/instructions is skipped: neither perf nor callgrind can count instructions here", file=sys.stderr)


def count_with_perf(command: list[str], env: dict[str, str], folder: Path) -> float | None:
    """The counter of the processor, if it has one that may be used."""
    if not shutil.which("perf"):
        return None
    words = ["perf", "stat", "-x,", "-e", "instructions:u", "--", *command]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    found = re.search(r"^(\d+),", done.stderr, re.MULTILINE)
    return float(found[1]) if found else None


def count_with_callgrind(command: list[str], env: dict[str, str], folder: Path) -> float | None:
    """A simulated processor: slow, and exact."""
    if not shutil.which("valgrind"):
        return None
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind", *command]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return float(found[1]) if found else None
