"""Servers that misbehave: each has a clear outcome, and the session continues."""

import dataclasses
import json
import socket
import sys

import pytest

from pegboard_mcp import connection as connection_module

from .world import close, raw, tool, until

pytestmark = pytest.mark.anyio


async def state_of(world, entry, **settings):
    board = world.board({"notes": entry}, **settings)
    hub = await world.connect(board)
    connection = hub.connections["notes"]
    found = (connection.state, connection.problem)
    await close(board)
    return found


async def test_a_crash_in_the_middle_of_a_call(world):
    board = world.board({"notes": raw(tools=[tool("crash"), tool("echo")])})
    await world.connect(board)
    result = await board.call("mcp__notes__crash")
    assert result.is_error
    assert "The connection to the MCP server notes broke" in result.text
    assert "It ended with exit code 3." in result.text
    assert (await board.call("mcp__notes__echo", {"text": "again"})).text == "again"  # It was started again.
    await close(board)


async def test_a_dead_server_comes_back_by_itself(world):
    board = world.board({"notes": raw(tools=[tool("crash")])})
    hub = await world.connect(board)
    connection, version = hub.connections["notes"], hub.connections["notes"].version
    await board.call("mcp__notes__crash")
    await until(lambda: connection.state == "ready" and connection.version > version)
    await close(board)


async def test_a_server_that_never_works_rests_after_six_attempts_until_it_is_called(world, monkeypatch):
    monkeypatch.setattr(connection_module, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(connection_module, "LONGEST_PAUSE", 0.02)
    starts = world.project / "starts"
    starts.mkdir()
    known = world.board({"notes": raw()})  # Its tools are known from a time when it worked.
    await world.connect(known)
    await close(known)
    board = world.board({"notes": raw()})
    connection = board.services.others["mcp"].connections["notes"]
    broken = dataclasses.replace(connection.server, entry=raw(starts=str(starts), end=3))
    connection.server = broken
    await world.connect(board)
    await until(lambda: len(list(starts.iterdir())) == connection_module.MOST_FAILURES and connection.state == "failed")
    result = await board.call("mcp__notes__echo", {"text": "a"})
    assert "The MCP server notes is not connected. It ended with exit code 3." in result.text
    assert len(list(starts.iterdir())) == connection_module.MOST_FAILURES + 1
    await close(board)


async def test_a_server_that_hangs_at_its_start(world):
    state, problem = await state_of(world, raw(hang=True), mcp={"connectTimeout": 0.5})
    assert (state, problem) == ("failed", "It did not answer within 0.5 s.")


async def test_an_address_that_takes_connections_and_never_answers(world):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        state, problem = await state_of(world, {"url": url}, mcp={"connectTimeout": 0.5})
    assert (state, problem) == ("failed", "It did not answer within 0.5 s.")


async def test_a_program_that_is_not_there(world):
    state, problem = await state_of(world, {"command": "no-such-program-anywhere"})
    expected = "The program no-such-program-anywhere was not found. Install it, or correct the command."
    assert (state, problem) == ("failed", expected)


async def test_a_program_that_ends_at_once_with_its_last_words(world):
    entry = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('a module is missing')"]}
    state, problem = await state_of(world, entry)
    assert state == "failed"
    assert problem == "It ended with exit code 1. It said: a module is missing"


async def test_a_folder_that_is_not_there(world):
    state, problem = await state_of(world, {**raw(), "cwd": "nowhere"})
    assert (state, problem) == ("failed", f"There is no folder {world.project}/nowhere to start it in.")


async def test_a_variable_that_is_not_set(world):
    state, problem = await state_of(world, {**raw(), "env": {"A": "${NOT_SET_ANYWHERE}"}})
    assert state == "failed"
    assert "The variable NOT_SET_ANYWHERE is not set." in problem


async def test_a_flood_on_standard_error(world):
    board = world.board({"notes": raw(stderr=True)})
    await world.connect(board)
    assert (await board.call("mcp__notes__echo", {"text": "heard"})).text == "heard"
    await close(board)


async def test_a_message_of_100_megabytes(world):
    board = world.board({"notes": raw(tools=[tool("huge"), tool("echo")])})
    await world.connect(board)
    result = await board.call("mcp__notes__huge")
    assert result.is_error
    assert "wrote more than 33554432 bytes" in result.text
    assert (await board.call("mcp__notes__echo", {"text": "again"})).text == "again"
    await close(board)


async def test_lines_that_are_no_json(world):
    board = world.board({"notes": raw(tools=[tool("garbage")])})
    await world.connect(board)
    assert (await board.call("mcp__notes__garbage", {"text": "after it"})).text == "after it"
    await close(board)


async def test_a_schema_that_is_not_an_object_costs_only_its_tool(world):
    wrong = [{**tool("list"), "inputSchema": []}, {**tool("text"), "inputSchema": {"type": "string"}}, tool("fine")]
    board = world.board({"notes": raw(tools=wrong)})
    hub = await world.connect(board)
    assert [name for name in board.pool.names if name.startswith("mcp__")] == ["mcp__notes__fine"]
    first, second = hub.connections["notes"].refused
    assert "Its input schema must be an object with the type object, got []." in first
    assert 'got {"type": "string"}.' in second
    await close(board)


async def test_names_that_appear_twice(world):
    board = world.board({"notes": raw(tools=[tool("one", "First."), tool("one", "Second."), tool("0ne")])})
    hub = await world.connect(board)
    assert b"First." in board.pool.get("mcp__notes__one").definition
    assert hub.connections["notes"].refused == [
        "The tool 'one' is left out. The server lists two tools with this name; the first is kept.",
        "The tool '0ne' is left out. The name '0ne' looks like 'one', which the server lists earlier.",
    ]
    await close(board)


async def test_five_thousand_tools(world):
    board = world.board({"notes": raw(count=5000)})
    await world.connect(board)
    assert len([name for name in board.pool.names if name.startswith("mcp__")]) == 5000
    assert (await board.call("mcp__notes__tool_4999", {"text": "the last"})).text == "the last"
    await close(board)


async def test_a_listing_that_fails_keeps_the_last_good_tools(world):
    listed, mark = world.project / "tools.json", world.project / "broken"
    listed.write_text(json.dumps([tool("grow")]))
    board = world.board({"notes": raw(tools_file=str(listed), broken_list_after=str(mark))})
    hub = await world.connect(board)
    mark.touch()
    await board.call("mcp__notes__grow", {"name": "more"})
    await until(lambda: "Listing its tools again failed: The list is broken." in hub.connections["notes"].problem)
    board.refresh()
    assert [name for name in board.pool.names if name.startswith("mcp__")] == ["mcp__notes__grow"]
    await close(board)


async def test_a_changed_list_is_seen_before_the_next_request(world):
    listed = world.project / "tools.json"
    listed.write_text(json.dumps([tool("grow")]))
    board = world.board({"notes": raw(tools_file=str(listed))})
    hub = await world.connect(board)
    version = hub.connections["notes"].version
    await board.call("mcp__notes__grow", {"name": "more"})
    await until(lambda: hub.connections["notes"].version > version)
    board.refresh()
    assert "mcp__notes__more" in board.pool.names
    await close(board)
