"""How long it takes from the start of `pegboard run` to its first request, to its first call, and to leave.

One loopback server plays the model for all cases, which take turns: Pegboard, Pegboard through the SDK, and Claude Code
from the npm registry, unless it cannot be installed (`--claude PATH` names one that is). Measured are

1. wall and CPU time from the start of the process to the arrival of its first request, with warm caches;
2. wall time from the end of a message that calls a tool to the next request: the first Bash and the first Edit call;
3. wall time from the last byte of the last answer to the end of the process;
4. peak memory.

The goals: a first request within 0.8 of Claude Code's time, exit within 100 ms, 120 MB. A development environment
contains trio, which the HTTP library imports where it is installed: for the numbers of a user, give the script of an
environment made with `uv sync` as `--pegboard PATH`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from sse import Request, SseServer, message, text, tool_use

PROMPT = "What is the capital of the country that this sentence does not name?"
THINKS = 0.4
"""Seconds that the model takes before it answers; a real one takes longer."""
TICK = os.sysconf("SC_CLK_TCK")
GOALS = {"wall": 0.8, "cpu": 0.8, "exit": 0.1, "memory": 120.0}


@dataclass
class Run:
    """One process from start to end; times in seconds, memory in MB."""

    wall: float = 0.0
    cpu: float = 0.0
    bash: float = 0.0
    edit: float = 0.0
    exit: float = 0.0
    memory: float = 0.0


@dataclass
class Case:
    """A program to start."""

    name: str
    command: list[str]
    env: dict[str, str]
    runs: list[Run] = field(default_factory=list)


def cpu_of(pid: int) -> float:
    """The CPU seconds of a process and of everything below it, those that have ended included."""
    total = 0.0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text().split()
            total += sum(cpu_of(int(child)) for child in children)
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # It has just ended; its parent, which is read after it, has its time.
    return total + sum(map(int, words[11:15])) / TICK


def measure(case: Case, folder: Path) -> Run:
    """Start the program in a folder with one file, and play the model for it."""
    target = folder / "a.txt"
    target.write_text("one\ntwo\n")
    run, pids = Run(), list[int]()
    asked: list[Request] = []

    def answer(request: Request) -> Any:
        if PROMPT not in request.raw.decode("utf-8", "replace") or not request.body.get("tools"):
            return message(text("Paris"))  # Programs ask small questions beside the conversation.
        asked.append(request)
        if len(asked) == 1:
            run.wall, run.cpu = request.arrived - began, cpu_of(pids[0])
            return message((THINKS, tool_use("Bash", {"command": "true", "description": "Do nothing"}, id="a")))
        if len(asked) == 2:
            run.bash = request.arrived - (asked[0].message_end or 0.0)
            return message(tool_use("Read", {"file_path": str(target)}, id="b"))
        if len(asked) == 3:
            change = {"file_path": str(target), "old_string": "two", "new_string": "three"}
            return message(tool_use("Edit", change, id="c"))
        if len(asked) == 4:
            run.edit = request.arrived - (asked[2].message_end or 0.0)
        return message(text("Done."))

    with SseServer(answer) as server:
        env = {**case.env, "ANTHROPIC_BASE_URL": server.url}
        began = time.monotonic()
        process = subprocess.Popen(
            case.command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        pids.append(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.monotonic()
        process.returncode = status
        if status or len(asked) < 4 or "three" not in target.read_text():
            raise SystemExit(f"{case.name} ended with status {status} after {len(asked)} requests")
        run.exit, run.memory = ended - (asked[-1].message_end or 0.0), usage.ru_maxrss / 1024
    return run


def environment(home: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    """A person's environment without their settings."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
    return {**kept, "HOME": str(home), "ANTHROPIC_API_KEY": "k", **more}


def pegboard_cases(script: str, folder: Path) -> list[Case]:
    """With its default transport, and with the SDK."""
    rules = ["--allow", "Bash(true)", "--permission-mode", "acceptEdits"]
    command = [script, "run", *rules, PROMPT]
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"anthropic": {"transport": "sdk"}}))
    return [
        Case("pegboard", command, environment(folder / "thin")),
        Case("pegboard, sdk transport", [*command, "--settings", str(settings)], environment(folder / "sdk")),
    ]


def claude_case(program: str, folder: Path) -> Case:
    """Claude Code as a script uses it, without its own traffic."""
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    command = [program, "-p", PROMPT, "--allowedTools", "Bash(true)", "--permission-mode", "acceptEdits"]
    return Case("claude code", command, environment(folder / "claude", quiet))


def installed_claude(folder: Path) -> str:
    """Claude Code 2.1 from the npm registry, or nothing where it cannot be installed."""
    npm = shutil.which("npm")
    if not npm:
        return ""
    install = [npm, "install", "--silent", "--prefix", str(folder), "@anthropic-ai/claude-code@2.1"]
    if subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        return ""
    programs = sorted(folder.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    return str(programs[0]) if programs else ""


def median(case: Case, read: Callable[[Run], float]) -> float:
    return statistics.median(read(run) for run in case.runs)


def table(cases: list[Case]) -> list[dict[str, Any]]:
    """Medians, and ratios against Claude Code where it ran."""
    reference = next((case for case in cases if case.name == "claude code"), None)
    rows = []
    for case in cases:
        row: dict[str, Any] = {"case": case.name}
        for name in ("wall", "cpu", "bash", "edit", "exit"):
            row[f"{name}_ms"] = round(median(case, lambda run, name=name: getattr(run, name)) * 1e3)
        row["memory_mb"] = round(median(case, lambda run: run.memory))
        if reference:
            for name in ("wall", "cpu"):
                row[f"{name}_ratio"] = round(
                    row[f"{name}_ms"] / 1e3 / median(reference, lambda run, name=name: getattr(run, name)), 2
                )
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print("Medians; ratios against Claude Code; times in ms")
    print(f"  {'':<26}first request            first call         exit   peak")
    print(f"  {'':<26} wall         CPU         Bash   Edit              MB")
    for row in rows:
        wall, cpu = (f"{row[f'{name}_ms']:>5} {row.get(f'{name}_ratio', ''):>5}" for name in ("wall", "cpu"))
        print(
            f"  {row['case']:<26}{wall} {cpu} {row['bash_ms']:>6} {row['edit_ms']:>6} {row['exit_ms']:>6}"
            f" {row['memory_mb']:>6}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pegboard", metavar="PATH", default=str(Path(sys.executable).with_name("pegboard")))
    parser.add_argument("--claude", metavar="PATH", help="an installed Claude Code; otherwise npm installs one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = pegboard_cases(given.pegboard, folder)
        program = given.claude or installed_claude(folder / "npm")
        if program:
            cases.append(claude_case(program, folder))
        else:
            print("Claude Code cannot be installed here: there is nothing to compare with.", file=sys.stderr)
        for number in range(given.rounds + 1):
            for case in cases:
                place = folder / "work" / case.name.replace(" ", "-").replace(",", "")
                place.mkdir(parents=True, exist_ok=True)
                run = measure(case, place)
                if number:  # The first round warms caches.
                    case.runs.append(run)
        rows = table(cases)
    if given.json:
        print(json.dumps({"title": "start", "goals": GOALS, "rows": rows}))
    else:
        show(rows)


if __name__ == "__main__":
    main()
