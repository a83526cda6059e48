"""A person at a real pseudo-terminal, whose screen is what a terminal makes of the bytes."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest

from pegboard_testing.warm import warm

PATIENCE = 25.0
"""Seconds that a condition may take on a busy machine."""


def said(*texts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts]}


def called(name: str, /, **given: Any) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "name": name, "input": given}]}


class Terminal:
    """`pegboard run` on a terminal of its own."""

    def __init__(self, command: list[str], world: World, size: tuple[int, int]) -> None:
        columns, rows = size
        self.leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (rows, columns))
        self.screen = pyte.HistoryScreen(columns, rows, history=5_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, cwd=world.work, env=world.env,
            start_new_session=True,
        )  # fmt: skip
        os.close(follower)

    def _read(self, seconds: float) -> bool:
        """Take what comes; False when the command has ended."""
        if not select.select([self.leader], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.leader, 65_536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    @property
    def lines(self) -> list[str]:
        """What was ever on the screen and is not gone: the scrollback and the screen."""
        width = self.screen.columns
        above = ["".join(row[x].data for x in range(width)) for row in self.screen.history.top]
        return [line.rstrip() for line in (*above, *self.screen.display)]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def lines_with(self, beginning: str) -> list[str]:
        """The lines that begin like this."""
        return [line for line in self.lines if line.startswith(beginning)]

    def until(self, condition: str | Callable[[], object]) -> None:
        """Wait until this text is on the screen, or this holds."""
        holds = (lambda: condition in self.text) if isinstance(condition, str) else condition
        limit = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < limit, f"{condition!r} did not happen:\n{self.text}"
            if not self._read(0.5):
                assert holds(), f"the command ended before {condition!r}:\n{self.text}"

    def press(self, keys: str) -> None:
        os.write(self.leader, keys.encode())

    def type(self, line: str) -> None:
        """Type a line, see it, and send it."""
        self.press(line)
        self.until(lambda: any(row.startswith(f"> {line}"[: self.screen.columns]) or line in row for row in self.lines))
        self.press("\r")

    def ready(self) -> Terminal:
        """Wait for the input line."""
        self.until(lambda: ">" in [row for row in self.lines if row][-2:])
        return self

    def resize(self, columns: int, rows: int) -> None:
        termios.tcsetwinsize(self.leader, (rows, columns))
        self.screen.resize(rows, columns)

    def end(self) -> int:
        """The exit code; the command must be ending."""
        limit = time.monotonic() + PATIENCE
        while self._read(0.2) and time.monotonic() < limit:
            pass
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.leader)


class World:
    """A folder to work in, a home, and the terminals that were opened."""

    def __init__(self, folder: Path) -> None:
        self.work, self.home = folder / "work", folder / "home"
        self.work.mkdir()
        self.home.mkdir()
        self.more: dict[str, str] = {}
        self.opened: list[Terminal] = []

    @property
    def env(self) -> dict[str, str]:
        hidden = ("PEGBOARD_", "XDG_", "CLAUDE_", "NO_COLOR", "COLUMNS", "LINES", "PROMPT_TOOLKIT")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        return {**clean, "HOME": str(warm(self.home)), "TERM": "xterm-256color", **self.more}

    def open(self, *script: dict[str, Any], words: tuple[str, ...] = (), size: tuple[int, int] = (80, 24)) -> Terminal:
        """A conversation with a model that plays this script."""
        file = self.home / "script.jsonl"
        file.write_text("\n".join(map(json.dumps, script)) + "\n")
        return self.start([sys.executable, "-m", "pegboard_cli", "run", "--replay", str(file), *words], size)

    def start(self, command: list[str], size: tuple[int, int] = (80, 24)) -> Terminal:
        terminal = Terminal(command, self, size)
        self.opened.append(terminal)
        return terminal


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    for terminal in made.opened:
        terminal.close()
