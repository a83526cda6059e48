"""What tests of sub-agents share: a board that watches, scripts for several conversations, events by agent."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import Allow, Board, Context, Input, hookimpl, tool
from pegboard.settings import load
from pegboard_session import ReplayProvider, Session
from pegboard_testing.warm import warm


class Watching:
    """Sees every event and question; approves what is asked."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.questions: list[Any] = []
        self.answer: Any = Allow("by the test", layer="ask")

    @hookimpl
    def observe(self, event):
        self.events.append((event.kind, dict(event.data)))

    @hookimpl
    def ask_user(self, question):
        self.questions.append(question)
        return self.answer

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == kind]


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home of its own for each test of a module that imports this."""
    monkeypatch.setenv("HOME", str(tmp_path.parent / f"{tmp_path.name}-home"))


@pytest.fixture
def watching() -> Watching:
    """Somebody who watches the board."""
    return Watching()


class NameInput(Input):
    name: str = ""


class Meeting:
    """A tool that returns only when three agents are in it at once: without overlap nobody ever leaves."""

    def __init__(self, size=3):
        self.size, self.arrived, self.all_here = size, {}, {}
        self.ran = []

    def tools(self):
        @tool(read_only=True, concurrency_safe=True, open_world=False)
        async def Meet(args: NameInput, ctx: Context) -> str:
            """Wait for the others."""
            round_ = args.name
            event = self.all_here.setdefault(round_, anyio.Event())
            self.arrived[round_] = self.arrived.get(round_, 0) + 1
            if self.arrived[round_] == self.size:
                event.set()
            await event.wait()
            self.ran.append((ctx.agent.id, args.name))
            return f"met in {args.name}"

        @tool(read_only=True, concurrency_safe=True, open_world=False)
        async def Hang(args: NameInput, ctx: Context) -> str:
            """Never come back."""
            await anyio.sleep(math.inf)
            return ""

        return [Meet, Hang]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(tool: str, /, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": tool, "input": given}


def agent(prompt: str = "Do it.", /, **given: Any) -> dict[str, Any]:
    return use("Agent", description="a task", prompt=prompt, **given)


def turn(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"content": list(blocks), "usage": {"output_tokens": 7}, **more}


def of(whose: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return turn(*blocks, agent=whose, **more)


def make_board(folder: Path, watching: Watching, tools=(), **cli: Any) -> Board:
    """A board with everything installed, in a folder, with a home beside it."""
    home = folder.parent / f"{folder.name}-home"
    home.mkdir(exist_ok=True)
    env = {"HOME": str(warm(home)), "PATH": os.environ.get("PATH", "")}
    trusted, plugins = cli.pop("trusted", False), cli.pop("plugins", ())
    settings = load(folder, env, cli=cli or None, managed=str(home / "managed"), trusted=trusted)
    return Board.load(settings=settings, env=env, plugins=[watching, *plugins], tools=tools)


async def play(board: Board, *turns: dict[str, Any], **options: Any) -> tuple[Any, Session]:
    """One prompt, played by a script."""
    async with Session(board, ReplayProvider(turns), model="parent-model", **options) as session:
        outcome = await session.run("Go")
    return outcome, session


def results_of(session: Session, message: int = 2) -> list[str]:
    """What the parent read of each call of a message."""
    blocks = [block for block in session.messages[message]["content"] if block["type"] == "tool_result"]
    return ["\n".join(part["text"] for part in block.get("content", [])) for block in blocks]


def said_by(watching: Watching) -> list[str]:
    """What sub-agents read of their calls, in the order in which they ended."""
    return [data["said"] for data in watching.of("call_finished") if "agent" in data]
