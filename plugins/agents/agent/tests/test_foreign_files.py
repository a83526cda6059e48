"""Agent files as people have them for other hosts: each is started by the name that its file gives it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pegboard import Board
from pegboard.settings import load
from pegboard_session import ReplayProvider, Session
from pegboard_testing.warm import warm

COLON = (
    'Use this agent when a feature needs a design first. Examples: user: "Add caching" assistant: '
    '"I will ask the code-architect agent"; Context: the change touches several modules.'
)
FILES = {
    "nested": ("review/security.md", "name: security\ndescription: Reviews security.", "security"),
    "colon": ("code-architect.md", f"name: code-architect\ndescription: {COLON}\ntools: Read, Grep", "code-architect"),
    "blank": ("reviewer.md", "name: Code Reviewer\ndescription: Reviews code.", "Code Reviewer"),
    "model": ("fast.md", "name: fast\ndescription: Short.\nmodel: haiku\ntools: Read, Grep", "fast"),
    "general": ("x.md", "name: x\ndescription: d", "general-purpose"),
    "alias": ("x.md", "name: x\ndescription: d", "general"),
    "unnamed": ("notes.md", "description: Documentation kept beside the agents, no name.", "notes"),
}


@pytest.fixture
def anyio_backend():
    """One event loop is enough: what differs is in the files."""
    return "asyncio"


def put(folder, path, head):
    file = folder / ".claude/agents" / path
    file.parent.mkdir(parents=True)
    file.write_text(f"---\n{head}\n---\nWork.\n")
    return file


def start(kind):
    given = {"description": "look", "prompt": "Look.", "subagent_type": kind, "name": "ann"}
    return {"content": [{"type": "tool_use", "name": "Agent", "input": given}]}


def says(words):
    return {"content": [{"type": "text", "text": words}]}


@pytest.mark.parametrize("case", FILES)
async def test_an_agent_starts_by_the_name_in_its_file(tmp_path, monkeypatch, case):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "repo/.git").mkdir(parents=True)
    path, head, kind = FILES[case]
    put(tmp_path / "repo", path, head)
    board = Board.load(
        settings=load(str(tmp_path / "repo"), trusted=True, application={"only": ["agents", "files", "search"]})
    )
    provider = ReplayProvider([start(kind), says("Done."), {"agent": "ann", **says("sub done")}])
    async with Session(board, provider) as session:
        await session.run("Go")
    [result] = [block for block in session.messages[2]["content"] if block["type"] == "tool_result"]
    if case == "unnamed":
        assert "There is no kind of agent 'notes'." in str(result["content"])
    else:
        assert "sub done" in str(result["content"])
        assert "not used" not in str(result["content"])


def test_doctor_says_quietly_what_was_read_as_text(tmp_path):
    (tmp_path / "repo/.git").mkdir(parents=True)
    path, head, _ = FILES["colon"]
    file = put(tmp_path / "repo", path, head)
    env = {**os.environ, "HOME": str(warm(tmp_path))}
    command = [sys.executable, "-m", "pegboard_cli", "doctor"]
    made = subprocess.run(command, cwd=tmp_path / "repo", env=env, capture_output=True, text=True, timeout=120)
    [line] = [line for line in made.stdout.splitlines() if str(file) in line]
    assert line.startswith("ok ")
    assert f"{file}:3: description is read as plain text." in line
