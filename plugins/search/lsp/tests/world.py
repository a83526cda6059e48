"""A project, a home and boards that work there. Servers are real processes."""

import json
import os
import sys
from pathlib import Path

import anyio

from pegboard import Allow, Board, Deny, hookimpl
from pegboard.settings import load
from pegboard_lsp.hub import hub_of
from pegboard_testing.warm import known_plugins

HERE = Path(__file__).parent
RAW = HERE / "raw_server.py"


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, *answers):
        self.answers, self.questions, self.previews = list(answers), [], []

    @hookimpl
    def ask_user(self, question):
        self.questions.append(question)
        self.previews.append(question.preview)
        return self.answers.pop(0) if self.answers else Deny("no")


class World:
    def __init__(self, folder: Path) -> None:
        self.project, self.home, self.log = folder / "project", folder / "home", folder / "log.jsonl"
        self.project.mkdir()
        self.home.mkdir()
        self.boards: list[Board] = []
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}

    def write(self, name, text):
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def board(self, *plugins, trusted=False, **settings):
        made = load(str(self.project), self.env, trusted=trusted, application=settings)
        with known_plugins(self.home):
            board = Board.load(cwd=self.project, settings=made, env=self.env, plugins=plugins)
        self.boards.append(board)
        return board

    def raw(self, *plugins, lsp=None, **how):
        """A board whose only server for `.toy` files is the small one."""
        entry = how.pop("entry", {})
        words = [str(RAW), json.dumps({"log": str(self.log), **how})]
        toy = {"command": sys.executable, "args": words, "extensionToLanguage": {".toy": "toy"}, **entry}
        return self.board(*plugins, lsp={"servers": {"toy": toy}, **(lsp or {})})

    def heard(self, *methods):
        """The messages that small servers got."""
        rows = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [row for row in rows if not methods or row.get("method") in methods]

    def close(self):
        for board in self.boards:
            hub_of(board.settings).close()


async def ask(board, operation, file_path=None, **more):
    given = {"operation": operation, **more} | ({"file_path": str(file_path)} if file_path else {})
    return await board.call("LSP", given)


def pids(board):
    """The ids of the servers that run."""
    return [server.running.pid for server in hub_of(board.settings).servers.values() if server.is_running]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until(condition, seconds=60.0):
    """Wait for something to become true."""
    with anyio.fail_after(seconds):
        while not condition():
            await anyio.sleep(0.02)


YES = Allow("yes")
