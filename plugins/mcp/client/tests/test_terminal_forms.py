"""A person at a terminal fills in the form of a server, line by line."""

import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest

from .test_questions import STDIO
from .world import close

ANSWERS = [
    ("What to call it", "(Enter declines): ", "Ada"),
    ("size (at least 1, at most 9)", "(Enter declines): ", "many"),
    ("Please type a whole number.", "(Enter declines): ", "3"),
    ("weight", "(Enter leaves it out): ", ""),
    ("sure", "[y/N] ", "y"),
    ("2  Blue", "(Enter declines): ", "2"),
    ("extras", "(Enter leaves it out): ", "1,3"),
]
"""What is shown, where the cursor stands then, and what the person types."""


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Terminal:
    def __init__(self, words, world):
        self.leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            words, cwd=world.project, env=world.env, stdin=follower, stdout=follower, stderr=follower
        )
        os.close(follower)
        self.seen, self.read_to = "", 0

    def waits_for(self, text, seconds=120):
        """Read until the text is there, beyond what was waited for before."""
        end = time.monotonic() + seconds
        while (found := self.seen.find(text, self.read_to)) < 0:
            ready, _, _ = select.select([self.leader], [], [], max(0, end - time.monotonic()))
            assert ready, self.seen
            try:
                self.seen += os.read(self.leader, 65_536).decode(errors="replace")
            except OSError:
                raise AssertionError(self.seen) from None
        self.read_to = found + len(text)

    def type(self, line):
        os.write(self.leader, f"{line}\n".encode())

    def end(self):
        os.close(self.leader)
        self.process.kill()
        self.process.wait()


@pytest.mark.anyio
async def test_a_person_fills_in_the_form_of_a_server_on_a_terminal(world):
    known = world.board({"it": STDIO})
    await world.connect(known)
    await close(known)
    (world.home / ".pegboard").mkdir()
    (world.home / ".pegboard/settings.json").write_text(json.dumps({"mcpServers": {"it": STDIO}}))
    words = [sys.executable, "-m", "pegboard_cli", "call", "--yes", "mcp__it__form"]
    terminal = Terminal(words, world)
    try:
        terminal.waits_for("The MCP server it asks: Which colour?")
        for question, prompt, answer in ANSWERS:
            terminal.waits_for(question)
            terminal.waits_for(prompt)
            terminal.type(answer)
        terminal.waits_for("accept {'name': 'Ada', 'size': 3, 'sure': True, 'colour': 'b', 'extras': ['x', 'z']}")
    finally:
        terminal.end()
