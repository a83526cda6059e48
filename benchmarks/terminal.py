"""What a conversation on a terminal costs.

A model is played that writes 6,000 tokens of Markdown at 100 tokens a second, on a real pseudo-terminal: the share of
a core that the command uses, in thirds of the answer, and how often the screen is updated. Then keys are pressed while
a command writes 2 MB, and while a tool returns 2 MB: how long the input line takes to show each of them, and for how
long at most the event loop did one thing, in time of the processor, so that a busy machine does not count.
"""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from .harness import CPU, Comparison, Pace, Samples

PROGRAM = """
import asyncio, sys, time, anyio
from pegboard import Board, Context, Input, hookimpl, tool
from pegboard_session import ReplayProvider, TextDelta
from pegboard_session import replay

holds = open({folder!r} + "/holds", "a", buffering=1)

def measured(handle):
    began = time.thread_time()
    try:
        return plain_run(handle)
    finally:
        if (took := time.thread_time() - began) > 0.002:
            holds.write(f"{{time.monotonic()}} {{took * 1000}}\\n")

plain_run, asyncio.Handle._run = asyncio.Handle._run, measured

class LargeInput(Input):
    size: int
    \"\"\"How many characters.\"\"\"

@tool(read_only=True, concurrency_safe=True, open_world=False)
def Large(args: LargeInput, ctx: Context) -> str:
    \"\"\"Return many lines.\"\"\"
    return "a line of text\\n" * (args.size // 15)

class Plugin:
    @hookimpl
    def register_tools(self):
        return [Large]

def load(*args, plugins=(), **rest):
    return plain_load(*args, plugins=[*plugins, Plugin()], **rest)

plain_load, Board.load = Board.load, load

async def stream(self, request):
    async for event in plain(self, request):
        yield event
        if isinstance(event, TextDelta):
            await anyio.sleep(len(event.text) / 4 / {speed})

plain, ReplayProvider.stream = ReplayProvider.stream, stream
replay.PIECE = 8
from pegboard_cli.main import main
sys.exit(main())
"""
TOKENS, SPEED = 6_000, 100
CALLS = 5
"""How many calls with 2 MB each are made while keys are pressed."""
SECTION = """## Part {number}

A paragraph with *some* emphasis, `code`, and enough words to be wrapped over a few lines of a terminal that is
eighty columns wide, as answers of models are.

- a first item with `names` in it
- a second item

```python
def part_{number}(value: int) -> int:
    # A comment
    return value * {number}
```

| name | value |
|---|---|
| part | {number} |

"""


THIRDS = ("first third", "second third", "last third")


def benchmark(pace: Pace) -> Iterator[Comparison]:
    """Markdown, and keys during two kinds of calls."""
    yield markdown({"full": TOKENS, "short": 1_500, "quick": 900}[pace.name])
    command = {"command": "yes 'a line of text' | head -c 2000000"}
    yield keys("terminal/keys-command", "a command writes 2 MB", "Bash", command)
    yield keys("terminal/keys-tool", "a tool returns 2 MB", "Large", {"size": 2_000_000})


def markdown(tokens: int) -> Comparison:
    """The share of a core by thirds of the answer: it must not grow."""
    text = ""
    while len(text) < tokens * 4:
        text += SECTION.format(number=len(text))
    with Conversation([{"content": [{"type": "text", "text": text + "THE END"}]}], SPEED) as talk:
        talk.write("go\r")
        talk.until(b"Part")
        began, times, updates, marks = time.monotonic(), [(time.monotonic(), talk.cpu())], 0, 1
        third = tokens / SPEED / 3
        while b"THE END" not in talk.seen[-4000:]:
            updates += talk.read(0.5)
            if marks < 3 and time.monotonic() - began > third * marks:
                times.append((time.monotonic(), talk.cpu()))
                marks += 1
        took = time.monotonic() - began
        times.append((time.monotonic(), talk.cpu()))
    shares = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(times)]
    samples: Samples = {name: [share] for name, share in zip(THIRDS, shares, strict=False)}
    title = f"{tokens:,} tokens of Markdown at {SPEED} tokens a second: share of a core"
    notes = [f"{updates / took:.1f} updates of the screen per second"]
    return Comparison("terminal/markdown", title, samples, THIRDS[0], CPU, unit="share", notes=notes)


def keys(label: str, what: str, name: str, given: dict[str, Any]) -> Comparison:
    """Press one key after the other during a call, and see when each appears."""
    call = {"type": "tool_use", "name": name, "input": given}
    first = {"type": "tool_use", "name": "Bash", "input": {"command": "echo so that everything is imported"}}
    said = {"content": [{"type": "text", "text": "READY"}]}
    calls = [{"content": [call]}] * CALLS
    script = [{"content": [first]}, said, *calls, {"content": [{"type": "text", "text": "THE END"}]}]
    with Conversation(script, 1e9, "--allow", "Bash(yes *)", "--allow", "Bash(head *)") as talk:
        talk.write("go\r")
        talk.until(b"READY")
        time.sleep(3)  # Until everything is imported.
        signs = iter(range(0x4E00, 0x9FFF))  # Signs that appear nowhere else.
        idle = [talk.press(next(signs)) for _ in range(50)]
        talk.write("\r")
        began, busy = time.monotonic(), list[float]()
        while b"THE END" not in talk.seen:
            busy.append(talk.press(next(signs)))
        if talk.seen.count("●".encode()) < 1 + CALLS:
            raise RuntimeError("the calls did not return what they should")
        held = talk.longest_hold(began)
    samples = {"nothing happens": idle, what: busy, f"{what}, the slowest key": [max(busy)]}
    notes = [f"the event loop did one thing for at most {held:.0f} ms of processor time"]
    return Comparison(label, "a key until it is shown", samples, "nothing happens", notes=notes)


class Conversation:
    """`pegboard run` on a terminal of its own."""

    def __init__(self, script, speed, *words):
        self._folder = tempfile.TemporaryDirectory()
        self._home = home = Path(self._folder.name)
        (home / "work").mkdir()
        (home / "script.jsonl").write_text("\n".join(map(json.dumps, script)))
        self._leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (24, 80))
        command = [sys.executable, "-c", PROGRAM.format(folder=str(home), speed=speed)]
        command += ["run", "--replay", str(home / "script.jsonl"), *words]
        env = {**os.environ, "HOME": str(home), "TERM": "xterm-256color"}
        self._process = subprocess.Popen(
            command,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=home / "work",
            env=env,
            start_new_session=True,
        )
        os.close(follower)
        self.seen = b""

    def __enter__(self):
        self.until(b"in use")
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._leader)
        self._folder.cleanup()

    def write(self, text):
        os.write(self._leader, text.encode())

    def read(self, seconds):
        """Take what comes within this time: how many writes it was, one or none."""
        if not select.select([self._leader], [], [], seconds)[0]:
            return 0
        self.seen += os.read(self._leader, 65_536)
        return 1

    def press(self, sign):
        """Press a key: the seconds until it is on the screen."""
        mark, before = chr(sign).encode(), time.monotonic()
        os.write(self._leader, mark)
        while mark not in self.seen[-20_000:]:
            self.read(0.01)
        took = time.monotonic() - before
        self.read(0.01)
        return took

    def longest_hold(self, since):
        """The most milliseconds for which the event loop did one thing."""
        rows = (line.split() for line in (self._home / "holds").read_text().splitlines())
        return max((float(took) for when, took in rows if float(when) > since), default=0)

    def until(self, text):
        while text not in self.seen:
            self.read(1)

    def cpu(self):
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
