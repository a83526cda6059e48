"""A folder, a home and servers for tests: everything real, nothing outside of this machine."""

import json
import os
import sys
from pathlib import Path

import anyio

from pegboard import Allow, Board, Deny, hookimpl
from pegboard_testing.warm import warm

HERE = Path(__file__).parent
RAW = HERE / "raw_server.py"


def raw(**how):
    """The entry of a server that speaks without the SDK; `more` are further fields."""
    more = how.pop("more", {})
    return {"command": sys.executable, "args": [str(RAW), json.dumps(how)], **more}


def tool(name, description="Does something.", **more):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, *answers):
        self.answers, self.questions = list(answers), []

    @hookimpl
    def ask_user(self, question):
        self.questions.append(question)
        return self.answers.pop(0) if self.answers else Deny("no")


class World:
    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.project.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        kept = ("PATH", "LANG", "PYTHONPATH", "VIRTUAL_ENV")
        self.env = {name: os.environ[name] for name in kept if name in os.environ} | {"HOME": str(warm(self.home))}

    def board(self, servers, *plugins, allow=("mcp__*",), **settings):
        rules = {"allow": [f"mcp__{name}" for name in servers]} if allow == ("mcp__*",) else {"allow": list(allow)}
        mine = {"mcpServers": servers, "permissions": rules, **settings}
        return Board.load(cwd=self.project, settings=mine, env=self.env, plugins=plugins)

    async def connect(self, board):
        """Start the servers and wait until each has connected or failed."""
        hub = board.services.others["mcp"]
        hub.start(board.equip(board.context()))
        await hub.reached(list(hub.connections.values()))
        board.refresh()
        return hub


async def until(condition, seconds=60.0):
    """Wait for something to become true."""
    with anyio.fail_after(seconds):
        while not condition():
            await anyio.sleep(0.02)


async def close(board):
    hub = board.services.others["mcp"]
    await anyio.to_thread.run_sync(hub.close)


YES = Allow("yes")
