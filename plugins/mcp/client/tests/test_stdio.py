"""Servers that we start: their tools on the board, from the call to the last process."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from pegboard import ToolError, hookimpl

from .world import YES, Person, close, raw, tool, until

pytestmark = pytest.mark.anyio

ASYNCIO_AND_TRIO = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


def names(board):
    return [name for name in board.pool.names if name.startswith("mcp__")]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@ASYNCIO_AND_TRIO
async def test_a_tool_of_a_server_is_called_like_any_other(world, anyio_backend):
    board = world.board({"notes": raw()})
    assert names(board) == []
    await world.connect(board)
    assert names(board) == ["mcp__notes__echo"]
    result = await board.call("mcp__notes__echo", {"text": "hello"})
    assert (result.text, result.is_error) == ("hello", False)
    wrong = await board.call("mcp__notes__echo", {"text": 3})
    assert "text must be text" in wrong.text
    await close(board)


async def test_a_board_knows_the_tools_of_the_last_time_before_anything_starts(world):
    board = world.board({"notes": raw()})
    await world.connect(board)
    await close(board)
    again = world.board({"notes": raw()})
    assert names(again) == ["mcp__notes__echo"]
    assert again.services.others["mcp"]._thread is None
    assert names(world.board({"notes": raw(stderr=False)})) == []  # Another command is another server.


def test_the_sdk_is_imported_only_to_connect(world):
    script = (
        "import sys, json; from pegboard import Board\n"
        f"Board.load(cwd={str(world.project)!r}, settings={{'mcpServers': {{'notes': {raw()!r}}}}})\n"
        "print(json.dumps([name for name in ('mcp', 'mcp_types', 'httpx2') if name in sys.modules]))"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=world.env, check=True)
    assert json.loads(made.stdout) == []


async def test_a_claim_to_read_only_permits_nothing(world):
    person = Person(YES)
    board = world.board({"notes": raw()}, person, allow=())
    await world.connect(board)
    assert not (await board.call("mcp__notes__echo", {"text": "a"})).is_error
    assert (await board.call("mcp__notes__echo", {"text": "a"})).code == "permission_denied"
    assert "the server says that it only reads" in person.questions[0].description
    await close(board)


async def test_the_claim_of_a_trusted_server_counts(world):
    board = world.board({"notes": raw()}, allow=(), mcp={"trustedServers": ["notes"]})
    await world.connect(board)
    assert not (await board.call("mcp__notes__echo", {"text": "a"})).is_error
    entry = board.pool.get("mcp__notes__echo")
    assert (entry.record["read_only"], entry.record["open_world"]) == (True, False)
    await close(board)


async def test_claims_decide_what_runs_side_by_side_and_what_people_see(world):
    shown = tool("go", annotations={"title": "Go on", "readOnlyHint": True})
    careful = tool("wipe", annotations={"destructiveHint": True})
    board = world.board({"notes": raw(tools=[shown, careful])})
    await world.connect(board)
    go, wipe = (board.find(f"mcp__notes__{name}").tool for name in ("go", "wipe"))
    assert (go.concurrency_safe, go.read_only, go.open_world) == (True, False, True)
    assert go.user_facing_name(go.input()) == "notes: Go on"
    assert (wipe.concurrency_safe, wipe.destructive) == (False, True)
    await close(board)


async def test_rules_of_people_apply_to_servers_and_tools(world):
    servers = {"notes": raw(tools=[tool("one"), tool("two")])}
    board = world.board(servers, permissions={"allow": ["mcp__notes__one"], "deny": ["mcp__notes__two"]})
    await world.connect(board)
    assert names(board) == ["mcp__notes__one"]
    assert not (await board.call("mcp__notes__one")).is_error
    assert (await board.call("mcp__notes__two")).code == "not_found"
    await close(board)


@pytest.mark.parametrize("pinned", ["alwaysLoad", "always_load"])
async def test_an_entry_leaves_out_tools_and_pins_others(world, pinned):
    more = {"tools": {"deny": ["two"]}, pinned: True}
    board = world.board({"notes": raw(tools=[tool("one"), tool("two")], more=more)})
    await world.connect(board)
    assert names(board) == ["mcp__notes__one"]
    assert board.pool.get("mcp__notes__one").record["pinned"]
    await close(board)


async def test_a_disabled_server_is_not_started(world):
    board = world.board({"notes": raw(more={"disabled": True}), "docs": raw()})
    hub = await world.connect(board)
    assert list(hub.connections) == ["docs"]
    await close(board)


async def test_a_server_gets_its_variables_and_none_of_our_secrets(world, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "secret")
    world.env["NOTES_TOKEN"] = "given"
    entry = raw(tools=[tool("environment")], more={"env": {"TOKEN_FOR_NOTES": "${NOTES_TOKEN}"}})
    board = world.board({"notes": entry})
    await world.connect(board)
    seen = json.loads((await board.call("mcp__notes__environment")).text)
    assert seen["TOKEN_FOR_NOTES"] == "given"
    assert "ACME_API_KEY" not in seen
    await close(board)


async def test_wrap_process_sees_every_server(world):
    class Watch:
        specs = []

        @hookimpl
        def wrap_process(self, spec):
            self.specs.append(spec)

    board = world.board({"notes": raw()}, Watch())
    await world.connect(board)
    (spec,) = Watch.specs
    assert str(world.project) == str(spec.cwd)
    assert spec.writable == (world.project,)
    await close(board)


async def test_a_process_that_may_not_start_is_a_clear_failure(world):
    class Refuse:
        @hookimpl
        def wrap_process(self, spec):
            raise ToolError("Nothing starts here.")

    board = world.board({"notes": raw()}, Refuse())
    hub = await world.connect(board)
    assert hub.connections["notes"].problem == "Nothing starts here."
    await close(board)


async def test_progress_reaches_the_caller(world):
    board = world.board({"notes": raw(tools=[tool("progress")])})
    await world.connect(board)
    seen = []
    ctx = board.context(on_progress=seen.append)
    await board.call("mcp__notes__progress", {}, ctx)
    assert [one.message for one in seen] == ["1 of 2", "2 of 2"]
    await close(board)


async def test_a_long_result_is_cut_and_saved(world):
    board = world.board({"notes": raw(tools=[tool("long")])})
    await world.connect(board)
    result = await board.call("mcp__notes__long")
    assert result.is_error is False
    assert len(result.text) < 100_000
    saved = re.search(r"saved in full in (\S+):", result.text)
    assert len(Path(saved[1]).read_text()) == 600_000
    await close(board)


async def test_an_error_of_a_tool_is_an_error_for_the_model(world):
    board = world.board({"notes": raw(tools=[tool("fail")])})
    await world.connect(board)
    result = await board.call("mcp__notes__fail")
    assert (result.text, result.is_error) == ("It did not work.", True)
    await close(board)


async def test_a_cancelled_call_leaves_the_server_usable(world):
    board = world.board({"notes": raw(tools=[tool("sleep"), tool("echo")])})
    await world.connect(board)
    with anyio.move_on_after(0.3) as scope:
        await board.call("mcp__notes__sleep", {"seconds": 0.6})
    assert scope.cancelled_caught
    assert (await board.call("mcp__notes__echo", {"text": "still there"})).text == "still there"
    await close(board)


async def test_a_call_that_takes_too_long_ends(world):
    board = world.board({"notes": raw(tools=[tool("sleep")], more={"timeout": 0.3})})
    await world.connect(board)
    result = await board.call("mcp__notes__sleep", {"seconds": 60})
    assert (result.code, result.text.split(".")[0]) == ("timeout", "The MCP server notes did not answer in time")
    await close(board)


async def test_closing_ends_the_server_and_what_it_started(world):
    board = world.board({"notes": raw(tools=[tool("spawn")], ignore_end=True)})
    await world.connect(board)
    pids = json.loads((await board.call("mcp__notes__spawn")).text)
    assert all(map(is_alive, pids))
    await close(board)
    await until(lambda: not any(map(is_alive, pids)), 10)


HOST = """
import sys, time, json, anyio
from pegboard import Board
async def main():
    board = Board.load(cwd=sys.argv[1], settings=json.loads(sys.argv[2]))
    hub = board.services.others["mcp"]
    hub.start(board.equip(board.context()))
    await hub.reached(list(hub.connections.values()))
    board.refresh()
    print((await board.call("mcp__notes__spawn")).text, flush=True)
    time.sleep(600)
anyio.run(main)
"""


def test_kill_9_of_the_host_ends_every_server_within_five_seconds(world):
    servers = {"notes": raw(tools=[tool("spawn")], ignore_end=True)}
    settings = json.dumps({"mcpServers": servers, "permissions": {"allow": ["mcp__notes"]}})
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(world.project), settings], stdout=subprocess.PIPE, env=world.env
    )
    pids = json.loads(host.stdout.readline())
    assert all(map(is_alive, pids))
    os.kill(host.pid, signal.SIGKILL)
    host.wait()
    host.stdout.close()
    deadline = time.monotonic() + 5
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_alive, pids))


async def test_servers_connect_at_the_same_time(world):
    """None of the five says a word before all of them have been started."""
    meeting = world.project / "meeting"
    meeting.mkdir()
    board = world.board({f"server{number}": raw(meet=str(meeting), number=number, of=5) for number in range(5)})
    hub = await world.connect(board)
    assert {one.state for one in hub.connections.values()} == {"ready"}
    await close(board)


async def test_servers_end_at_the_same_time(world):
    """Each waits at its end for the others. One after another, only the last would find them all."""
    parting = world.project / "parting"
    parting.mkdir()
    board = world.board({f"server{number}": raw(part=str(parting), number=number, of=5) for number in range(5)})
    await world.connect(board)
    await close(board)
    assert len(list(world.project.glob("met-*"))) >= 2
