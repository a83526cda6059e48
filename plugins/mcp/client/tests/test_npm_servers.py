"""Public servers from the npm registry: what people really connect to."""

import json

import pytest
from tests.node import NODE, installed

from pegboard import Allow, Answer

from .world import Person, close, until

pytestmark = pytest.mark.anyio
VERSION = "2026.8.31"


def server(name, *words):
    """The entry of a server from npm."""
    package = f"@modelcontextprotocol/server-{name}"
    return {"command": NODE, "args": [str(installed(f"{package}@{VERSION}") / package / "dist/index.js"), *words]}


async def test_the_server_that_shows_everything(world):
    person = Person(Answer(Allow("yes"), {"name": "Ada", "check": True}))
    rules = {"allow": ["mcp__everything", "ListMcpResources", "ReadMcpResource"]}
    board = world.board({"everything": server("everything", "stdio")}, person, permissions=rules)
    hub = await world.connect(board)
    connection = hub.connections["everything"]
    assert (connection.state, connection.problem, connection.refused) == ("ready", "", [])
    # More tools appear once the server knows what we can do: it says that its list has changed.
    await until(lambda: "trigger-elicitation-request" in [one.tool for one in connection.definitions])
    board.refresh()
    seen = []
    ctx = board.context(on_progress=seen.append)

    async def call(name, **args):
        return await board.call(f"mcp__everything__{name}", args, ctx)

    assert (await call("echo", message="hello")).text == "Echo: hello"
    assert "The sum of 2 and 3 is 5" in (await call("get-sum", a=2, b=3)).text
    assert "image/png" in (await call("get-tiny-image")).text  # Its file is damaged, which the board says.
    weather = json.loads((await call("get-structured-content", location="New York")).text)
    assert set(weather) == {"temperature", "conditions", "humidity"}
    await call("trigger-long-running-operation", duration=0.2, steps=2)
    assert [one.data["progress"] for one in seen] == [1, 2]
    assert (await call("get-sum", a="two")).code == "invalid_input"
    assert not (await call("trigger-elicitation-request")).is_error
    assert "everything asks" in person.questions[0].description
    assert "resource" in (await call("get-resource-links", count=2)).text

    rows = json.loads((await board.call("ListMcpResources", {"server": "everything"})).text)
    assert rows
    read = await board.call("ReadMcpResource", {"server": "everything", "uri": rows[0]["uri"]})
    assert not read.is_error
    assert len(connection.listing.prompts) >= 3
    await close(board)


async def test_the_server_for_files(world):
    (world.project / "note.txt").write_text("remember")
    board = world.board({"files": server("filesystem", str(world.project))})
    hub = await world.connect(board)
    assert len(hub.connections["files"].definitions) == 14
    read = await board.call("mcp__files__read_text_file", {"path": str(world.project / "note.txt")})
    assert "remember" in read.text
    outside = await board.call("mcp__files__read_text_file", {"path": "/etc/passwd"})
    assert outside.is_error
    assert "Access denied" in outside.text
    await close(board)
