"""Play one scripted model for agent command lines that take turns, and measure them from outside.

Runs as a process of its own, in a network namespace where that is possible: `python -m benchmarks.agent_play FILE`.
The file says which programs, which script and how many rounds; the samples are printed as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.sse import Events, Request, SseServer, message, text, tool_use

from .agent_programs import PROMPT, Program, call_of, cpu_of, memory_of

LONGEST = 300.0
"""Seconds after which a program is ended that does not end itself."""
THINKS = 0.4
"""Seconds that the model takes before its first answer; a real one takes longer."""
OVERLAP = 0.5
Step = tuple[str, list[tuple[str, dict[str, Any]]]]
"""What is measured from the end of this message to the next request, and its calls."""


def whole_script(folder: Path, repeats: int) -> Iterator[Step]:
    """The first call of each tool, later ones, and ten at once."""
    tree, edited = str(folder / "tree"), str(folder / "edited.txt")

    def edit(path: str, count: int = 0) -> tuple[str, dict[str, Any]]:
        return "edit", {"file": path, "old": f"count {count}", "new": f"count {count + 1}"}

    yield "first Bash", [("bash", {"command": "true"})]
    yield "first Read", [("read", {"file": edited})]
    yield "first Edit", [edit(edited)]
    yield "first Write", [("write", {"file": str(folder / "new.txt"), "content": "one\ntwo\n"})]
    yield "first Grep", [("grep", {"pattern": "word12 word4 word4", "path": tree})]
    yield "first Glob", [("glob", {"pattern": "**/*.py", "path": tree})]
    for number in range(repeats):
        yield "Read", [("read", {"file": str(folder / f"small{number}.txt")})]
        yield "Read, 2,000 lines", [("read", {"file": str(folder / f"large{number}.txt")})]
        yield "Bash `true`", [("bash", {"command": "true"})]
        yield "Edit", [edit(edited, number + 1)]
        yield "Write", [("write", {"file": str(folder / f"new{number}.txt"), "content": "one\ntwo\n"})]
        yield "Grep", [("grep", {"pattern": f"word1{number} word4 word4", "path": tree})]
        yield "Glob", [("glob", {"pattern": "**/*.py", "path": tree})]
    ten = [str(folder / f"ten{number}.txt") for number in range(10)]
    yield "10 Reads", [("read", {"file": path}) for path in ten]
    yield "10 Bash `true`", [("bash", {"command": "true"})] * 10
    yield "10 Edits", [edit(path) for path in ten]
    yield "overlap", [("bash", {"command": f"sleep {OVERLAP}"})]


def long_script(folder: Path, turns: int) -> Iterator[Step]:
    """As many turns as a long session has."""
    for number in range(turns):
        yield "turn", [("read", {"file": str(folder / f"small{number % 10}.txt")})]
    yield "after the turns", [("bash", {"command": "true"})]


def fill(folder: Path) -> None:
    """The files that the script reads and changes."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("new*.txt"):
        path.unlink()
    for name in ("edited", *(f"ten{n}" for n in range(10)), *(f"small{n}" for n in range(10))):
        (folder / f"{name}.txt").write_text(f"one\ntwo {name}\ncount 0\nfour\nfive\n")
    for number in range(10):
        (folder / f"large{number}.txt").write_text("".join(f"line {at} of {number}\n" for at in range(2_000)))


class Play:
    """One process of one program, from its start to its end."""

    def __init__(self, program: Program, steps: Iterator[Step]) -> None:
        self.program, self.steps = program, steps
        self.samples: dict[str, list[float]] = {}
        self.trouble = ""
        self._pending: tuple[str, Request, float] | None = None
        self._tools: set[str] = set()
        self._pid, self._began, self._asked = 0, 0.0, 0

    def note(self, label: str, value: float) -> None:
        self.samples.setdefault(label, []).append(value)

    def answer(self, request: Request) -> Events:
        """The next message of the script; programs ask small questions beside the conversation."""
        body = request.body
        if PROMPT not in request.raw.decode("utf-8", "replace") or not body.get("tools"):
            return message(text("Paris"))
        self._asked += 1
        if self._asked == 1:
            self.note("start", request.arrived - self._began)
            self.note("start, CPU", cpu_of(self._pid))
            self._tools = {tool.get("name", "") for tool in body["tools"]}
        self._finish(request, body)
        for label, calls in self.steps:
            named = [call_of(self.program.name, kind, given) for kind, given in calls]
            if named[0][0] in self._tools:
                return self._say(label, named, request)
        return message(text("Done."))

    def _say(self, label: str, named: list[tuple[str, dict[str, Any]]], request: Request) -> Events:
        blocks = [tool_use(name, given, id=f"toolu_{self._asked}_{at}") for at, (name, given) in enumerate(named)]
        if label == "after the turns":
            self.note("memory", memory_of(self._pid))
        self._pending = label, request, time.monotonic()
        pause = THINKS if self._asked == 1 else 0.0
        return message((pause, blocks[0]), *blocks[1:], end_pause=OVERLAP if label == "overlap" else 0.0)

    def _finish(self, request: Request, body: Any) -> None:
        """Note how long the calls of the message before took, and whether they went well."""
        if not self._pending:
            return
        label, before, said = self._pending
        self._pending = None
        end = said if label == "overlap" else before.message_end or said
        self.note(label, request.arrived - end)
        content = body["messages"][-1]["content"]
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result" and block.get("is_error"):
                self.trouble = self.trouble or f"{label}: {json.dumps(block)[:300]}"

    def run(self, folder: Path) -> dict[str, list[float]]:
        """Start the program, wait until it has ended, and return the samples."""
        with SseServer(self.answer) as server, tempfile.TemporaryFile() as said:
            env = self.program.place(server.url)
            self._began = time.monotonic()
            process = subprocess.Popen(
                self.program.command,
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
            self._pid = process.pid
            watchdog = threading.Timer(LONGEST, process.kill)
            watchdog.start()
            _, status, usage = os.wait4(process.pid, 0)
            ended = time.monotonic()
            watchdog.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            ends = [request.message_end for request in server.requests if request.message_end]
            said.seek(0)
            words = said.read().decode(errors="replace")[-600:]
        if process.returncode or not ends or self.trouble:
            counted = f"status {process.returncode}, {self._asked} requests"
            raise RuntimeError(f"{self.program.name}: {counted}; {self.trouble} {words}")
        self.note("exit", ended - max(ends))
        self.note("peak memory", usage.ru_maxrss / 1024)
        return self.samples


def main() -> None:
    """Every round of every program."""
    given = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(given["folder"])
    programs = [Program(**one) for one in given["programs"]]
    found: dict[str, dict[str, list[float]]] = {program.name: {} for program in programs}
    problems: dict[str, str] = {}
    for number in range(given["rounds"] + given["warm"]):
        for program in programs:
            fill(folder)
            if program.name in problems:
                continue
            steps = long_script(folder, given["turns"]) if given["turns"] else whole_script(folder, given["repeats"])
            try:
                samples = Play(program, steps).run(folder)
            except RuntimeError as error:
                problems[program.name] = str(error)
                continue
            if number >= given["warm"]:  # The first round warms caches.
                for label, times in samples.items():
                    found[program.name].setdefault(label, []).extend(times)
    print(json.dumps({"samples": found, "problems": problems}))


if __name__ == "__main__":
    main()
