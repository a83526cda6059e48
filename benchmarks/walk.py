"""How far a call walks: the files and functions of ours that one `Read` crosses, from the model's stream to its result.

The third `Read` of a session is counted, so that everything is imported and bound. `sys.setprofile`, and
`threading.setprofile` for the worker thread, see each Python function of Pegboard that is entered from the first event
of the model's stream until the `tool_result` is in the transcript. Functions of the standard library, pydantic and
anyio are not ours, and what dataclasses generate has no file. A coroutine that waits is entered again: that counts.
What the tool calls while it runs, such as the file service, counts as the tool's.

Two numbers come of it. `besides_the_tool` are all files that are entered. `on_the_way` are those of them that hold the
call while it travels, which a reader opens to follow it: a function of theirs is on the stack in one of the `STATIONS`,
where the call is made out of the stream, added to its turn, begun and executed, or where its result is written. All
others are asked something on the way and answer: what the call would do, whether it may, what it has cost.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from types import FrameType
from typing import Any

import anyio

from pegboard import Board
from pegboard_session import ProviderEvent, ReplayProvider, Request, Session, Transcript

HERE = Path(__file__).resolve().parents[1]
TOOL = "plugins/files/read/"
STATIONS = {"read_call", "Turn.add", "QueuedCall.begin", "in_thread.<locals>.execute", "ThreadCall.run"}
"""The functions in which a call is received and handed on; writing its result is the last station."""
GROUPS = {"core": "core/src/", "session": "plugins/host/session/", "policy": "plugins/policy/"}


def is_in_tool(frame: FrameType | None) -> bool:
    """Whether the tool called this: what it asks of services and settings is its own affair."""
    while frame:
        if frame.f_code.co_filename.startswith(f"{HERE}/{TOOL}"):
            return True
        frame = frame.f_back
    return False


class Walk:
    """Counts function calls by file while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.files: Counter[tuple[str, str]] = Counter()
        self.functions: Counter[tuple[str, str, str]] = Counter()
        self.on_the_way: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not self.is_on:
            return
        if short := ours(frame):
            group = "tool" if is_in_tool(frame) else group_of(short)
            self.files[group, short] += 1
            self.functions[group, short, frame.f_code.co_qualname] += 1
            if frame.f_code.co_qualname in STATIONS:
                self.note_station(frame)

    def note_station(self, frame: FrameType | None) -> None:
        """The files of ours through which the call has come here."""
        while frame:
            self.on_the_way |= {file for file in [ours(frame)] if file}
            frame = frame.f_back


def ours(frame: FrameType) -> str:
    """The file of a function of ours, from the top of the repository."""
    name = frame.f_code.co_filename
    return name.removeprefix(f"{HERE}/") if name.startswith((f"{HERE}/core/src/", f"{HERE}/plugins/")) else ""


class CountedProvider(ReplayProvider):
    """Begins to count when the first event of the third answer arrives."""

    def __init__(self, script: list[dict[str, Any]], name: str, counted: Walk) -> None:
        super().__init__(script, name)
        self._counted, self._answers = counted, 0

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """The events of one answer."""
        self._answers += 1
        events = [event async for event in super().stream(request)]
        if self._answers == 3:
            await anyio.sleep(1)  # What a session does in the background when it starts is no part of the call.
            self._counted.is_on = True
        for event in events:
            yield event


class CountedTranscript(Transcript):
    """Counts no more once a result is written."""

    def __init__(self, path: Path, counted: Walk) -> None:
        super().__init__(path)
        self._counted = counted

    def write(self, kind: str, **data: Any) -> None:
        """One line."""
        super().write(kind, **data)
        if kind == "result" and self._counted.is_on:
            self._counted.note_station(sys._getframe())
            self._counted.on_the_way.add("plugins/host/session/src/pegboard_session/transcript.py")
            self._counted.is_on = False


def script() -> list[dict[str, Any]]:
    read = {"type": "tool_use", "id": "", "name": "Read", "input": {"file_path": "a.txt"}}
    turns = [{"content": [{**read, "id": f"c{i}", "input": {"file_path": f"{i}.txt"}}]} for i in range(3)]
    return [*turns, {"content": [{"type": "text", "text": "done"}]}]


async def walk(folder: Path) -> Walk:
    for number in range(3):
        (folder / f"{number}.txt").write_text("one\ntwo\n")
    board = Board.load(cwd=folder, env={"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"})
    counted = Walk()
    threading.setprofile(counted)
    sys.setprofile(counted)
    provider = CountedProvider(script(), "the walk", counted)
    transcript = CountedTranscript(folder / "transcript.jsonl", counted)
    async with Session(board, provider, model="scripted", transcript=transcript) as session:
        await session.run("Read them.")
    sys.setprofile(None)
    return counted


def group_of(file: str) -> str:
    """Whose a file is: the core's, the session's, a policy's, or the library's that it belongs to."""
    for name, prefix in GROUPS.items():
        if file.startswith(prefix):
            return name
    return file.split("/")[2]


def row_of(counted: Walk, group: str, file: str) -> dict[str, Any]:
    lines = len((HERE / file).read_text().splitlines())
    is_on_the_way = file in counted.on_the_way
    return {
        "file": file,
        "group": group,
        "calls": counted.files[group, file],
        "on_the_way": is_on_the_way,
        "lines": lines,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--functions", action="store_true", help="list every function")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counted = anyio.run(walk, Path(folder).resolve())
    rows = [row_of(counted, group, file) for group, file in sorted(counted.files)]
    besides = Counter(group for group, _ in counted.files if group != "tool")
    total = {"files": len({file for _, file in counted.files}), "besides_the_tool": besides.total()}
    total["on_the_way"] = len(counted.on_the_way)
    total["calls"] = counted.files.total()
    if given.json:
        print(json.dumps({**total, "groups": besides, "rows": rows}))
        return
    for row in rows:
        mark = "*" if row["on_the_way"] else " "
        print(f"{row['calls']:>5} {mark} {row['group']:<10} {row['file']} ({row['lines']} lines)")
        for (group, file, function), calls in sorted(counted.functions.items()) if given.functions else ():
            if (group, file) == (row["group"], row["file"]):
                print(f"{'':<18}{calls:>4}  {function}")
    groups = ", ".join(f"{count} {group}" for group, count in besides.items())
    print(f"{total['files']} files, {total['besides_the_tool']} besides the tool: {groups}")
    print(f"{total['calls']} function calls; {total['on_the_way']} files hold the call on its way (*)")


if __name__ == "__main__":
    main()
