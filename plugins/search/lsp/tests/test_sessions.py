"""Servers in a session: they end with it, run in the sandbox, and are shared with sub-agents' boards."""

import json
import os
from pathlib import Path

import pytest

from pegboard import Context, ProcessSpec, hookimpl
from pegboard_sandbox import bubblewrap
from pegboard_session import Session, Stop, TextDelta, ToolCall

from .conftest import PROGRAM
from .world import ask, is_alive, pids, until

pytestmark = pytest.mark.anyio


class Scripted:
    """A model that makes the given calls and then repeats the last result."""

    name = "scripted"

    def __init__(self, *calls, meanwhile=lambda: None):
        self.calls, self.meanwhile = list(calls), meanwhile

    async def stream(self, request):
        if self.calls:
            name, args = self.calls.pop(0)
            yield ToolCall(f"call-{len(self.calls)}", name, json.dumps(args))
            yield Stop("tool_use")
            return
        self.meanwhile()
        yield TextDelta(request.messages[-1]["content"][-1]["content"][0]["text"])
        yield Stop("end_turn")


def processes_in(folder: Path) -> list[int]:
    """The processes whose working directory is this folder."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if os.readlink(f"/proc/{entry.name}/cwd") == str(folder) and is_alive(entry.name):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def test_no_server_is_left_after_a_session(world):
    world.write("a.py", PROGRAM)
    world.write("a.c", "int main(void) { return 0; }\n")
    board = world.board()
    running: list[int] = []
    calls = [("LSP", {"operation": "documentSymbol", "file_path": name}) for name in ("a.c", "a.py")]
    provider = Scripted(*calls, meanwhile=lambda: running.extend(pids(board)))
    async with Session(board, provider) as session:
        outcome = await session.run("Go")
        assert "class Greeter" in outcome.text
        assert len(running) == 2
        assert processes_in(world.project)
    assert not pids(board)
    assert not any(map(is_alive, running))
    await until(lambda: not processes_in(world.project))


async def test_another_session_of_the_same_board_starts_them_again(world):
    world.write("a.toy", "a word\n")
    board = world.raw()
    call = ("LSP", {"operation": "goToDefinition", "file_path": "a.toy", "line": 1, "symbol": "word"})
    for _ in range(2):
        async with Session(board, Scripted(call)) as session:
            assert "1 definition of word (toy)" in (await session.run("Go")).text
    assert len({row["pid"] for row in world.heard("initialize")}) == 2


async def test_new_problems_reach_the_model_after_an_edit(world):
    world.write("a.py", "x: int = 1\n")
    board = world.board(lsp={"diagnosticsAfterEdit": True}, permissions={"allow": ["Edit", "Read"]})
    edit = {"file_path": "a.py", "old_string": "= 1", "new_string": "= 'one'"}
    provider = Scripted(("Read", {"file_path": "a.py"}), ("Edit", edit))
    async with Session(board, provider) as session:
        await session.run("Go")
        assert "ty reports 1 new problem after this edit:\\na.py:1:10: error:" in json.dumps(session.messages)


class Started:
    """Sees each process as it is started: after everybody else has had a say."""

    def __init__(self):
        self.programs, self.writable = [], []

    @hookimpl(priority=1000)
    def wrap_process(self, spec: ProcessSpec, ctx: Context):
        self.programs.append(os.path.basename(spec.argv[0]))
        self.writable.append(spec.writable)


async def test_servers_run_in_the_sandbox_and_write_nothing(world, monkeypatch):
    if problem := bubblewrap.trouble(bubblewrap.find()):
        pytest.skip(f"No sandbox can be made here: {problem}.")
    monkeypatch.setenv("HOME", str(world.home))
    world.write("greeter.py", PROGRAM)
    started = Started()
    board = world.board(started, sandbox={"enabled": True})
    assert "3 symbols in greeter.py (ty):" in (await ask(board, "documentSymbol", "greeter.py")).text
    world.write("greeter.py", PROGRAM + "\nx: int = ''\n")
    assert "1 problem in greeter.py (ty):" in (await ask(board, "diagnostics", "greeter.py")).text
    assert (started.programs, started.writable) == (["bwrap"], [()])
    assert sorted(os.listdir(world.project)) == ["greeter.py"]
