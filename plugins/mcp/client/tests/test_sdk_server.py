"""A server of the official SDK, over stdio, streamable HTTP and SSE, in both eras of the protocol."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import Allow, Answer, Image, Text
from pegboard_mcp import slash
from pegboard_session import Session, SlashPrompt

from .scripted import Scripted
from .world import Person, close, until

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).parent / "sdk_server.py"


class Remote:
    def __init__(self, folder, kind, **env):
        self.port_file = folder / f"{kind}.port"
        self.kind = kind
        words = [sys.executable, str(SERVER), kind, str(self.port_file)]
        self.process = subprocess.Popen(words, env={**os.environ, **env})

    async def entry(self, **more):
        await until(lambda: self.port_file.exists() or self.process.poll() is not None)
        path = "mcp" if self.kind == "http" else "sse"
        return {"type": self.kind, "url": f"http://127.0.0.1:{self.port_file.read_text()}/{path}", **more}

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    made = Remote(tmp_path_factory.mktemp("http"), "http")
    yield made
    made.end()


async def entry_of(kind, http):
    if kind == "stdio":
        return {"command": sys.executable, "args": [str(SERVER), "stdio"]}
    return await http.entry()


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_everything_that_a_server_can_do(world, http, kind):
    person = Person(Answer(Allow("yes"), {"colour": "blue"}), Allow("yes"))
    board = world.board(
        {"sdk": await entry_of(kind, http)},
        person,
        permissions={"allow": ["mcp__sdk", "ListMcpResources", "ReadMcpResource"]},
    )
    hub = await world.connect(board)
    connection = hub.connections["sdk"]
    assert (connection.state, connection.problem) == ("ready", "")
    assert connection.client.protocol_version == "2026-07-28"

    content = (await board.call("mcp__sdk__content")).content
    assert content[0] == Text("words")
    assert isinstance(content[1], Image)
    assert "[resource note://1 (First: text/plain). Read it with ReadMcpResource.]" in content[2].text
    assert content[3] == Text("inside")
    assert json.loads((await board.call("mcp__sdk__structured")).text) == {"degrees": 21}

    assert (await board.call("mcp__sdk__ask")).text == "accept {'colour': 'blue'}"
    assert (await board.call("mcp__sdk__ask")).text == "accept {'colour': 'red'}"  # A yes takes the defaults.
    assert (await board.call("mcp__sdk__ask")).text == "decline None"
    assert "The MCP server sdk asks: Which colour?" in person.questions[0].description

    assert (await board.call("mcp__sdk__roots")).text == world.project.as_uri()
    version = connection.version
    await board.call("mcp__sdk__grow")
    await until(lambda: connection.version > version)
    board.refresh()
    assert "mcp__sdk__grown_0" in board.pool.names

    rows = json.loads((await board.call("ListMcpResources")).text)
    assert rows[0] == {"server": "sdk", "uri": "note://1", "name": "First", "description": "A note"}
    assert rows[1]["uri"] == "note://{id}"
    read = await board.call("ReadMcpResource", {"server": "sdk", "uri": "note://7"})
    assert read.text == "the text of note://7"
    wrong = await board.call("ReadMcpResource", {"server": "sdks", "uri": "note://7"})
    assert "There is no MCP server 'sdks'. Did you mean 'sdk'?" in wrong.text
    await close(board)


async def test_prompts_are_slash_commands_and_resources_can_be_mentioned(world, http):
    board = world.board({"sdk": await http.entry()})
    await world.connect(board)
    provider = Scripted([])
    async with Session(board, provider) as session:
        found = {command.name: command for command in slash.commands(session)}
        assert list(found) == ["mcp", "mcp__sdk__poem"]
        assert found["mcp__sdk__poem"].arguments == "<topic>"
        made = await found["mcp__sdk__poem"].run(session, "the sea at night")
        assert made == SlashPrompt("Write a poem about the sea at night.")
        assert await found["mcp__sdk__poem"].run(session, "") == "poem needs topic."
        assert "sdk: ready" in await found["mcp"].run(session, "")
        assert "sdk: ready" in await found["mcp"].run(session, "restart sdk")
        await session.run("Look at @sdk:note://5, and mail a@b:c.")
    assert '<resource server="sdk" uri="note://5">\\nthe text of note://5' in str(provider.requests[0].messages)
    assert "Be kind." in str(provider.requests[0].system)


async def test_headers_and_their_helper_reach_the_server(world, http):
    helper = 'echo "{\\"X-Helped\\": \\"$MCP_SERVER_NAME\\"}"'
    entry = await http.entry(headers={"X-Given": "${GIVEN:-nothing}"}, headersHelper=helper)
    board = world.board({"sdk": entry})
    await world.connect(board)
    seen = (await board.call("mcp__sdk__headers")).text
    assert "('x-given', 'nothing')" in seen
    assert "('x-helped', 'sdk')" in seen
    await close(board)


@pytest.mark.parametrize(
    ("helper", "words"),
    [
        ("exit 3", "Its headersHelper failed with exit code 3."),
        ("echo hi", "must print a JSON object with string values."),
    ],
)
async def test_a_helper_that_fails_is_named(world, helper, words):
    board = world.board({"sdk": {"url": "http://127.0.0.1:9/mcp", "headersHelper": helper}})
    hub = await world.connect(board)
    assert words in hub.connections["sdk"].problem
    await close(board)


async def test_a_server_that_is_not_there(world):
    board = world.board({"sdk": {"url": "http://127.0.0.1:9/mcp"}})
    hub = await world.connect(board)
    assert hub.connections["sdk"].state == "failed"
    assert "connect" in hub.connections["sdk"].problem.lower()
    await close(board)


async def test_a_server_that_wants_a_login_says_so(world, tmp_path):
    locked = Remote(tmp_path, "http", TOKEN="open-sesame")
    try:
        entry = await locked.entry()
        board = world.board({"sdk": entry})
        hub = await world.connect(board)
        assert hub.connections["sdk"].problem == "It requires a login. Run: pegboard mcp login sdk"
        await close(board)
        opened = world.board({"sdk": {**entry, "headers": {"Authorization": "Bearer open-sesame"}}})
        await world.connect(opened)
        assert (await opened.call("mcp__sdk__structured")).is_error is False
        await close(opened)
    finally:
        locked.end()


async def test_the_older_transport(world, tmp_path):
    old = Remote(tmp_path, "sse")
    try:
        person = Person(Answer(Allow("yes"), {"colour": "blue"}))
        board = world.board({"sdk": await old.entry()}, person, mcp={"sampling": False})
        hub = await world.connect(board)
        connection = hub.connections["sdk"]
        assert (connection.state, connection.problem) == ("ready", "")
        assert connection.client.protocol_version == "2025-11-25"
        assert (await board.call("mcp__sdk__ask")).text == "accept {'colour': 'blue'}"
        assert (await board.call("mcp__sdk__roots")).text == world.project.as_uri()
        assert "refused" in (await board.call("mcp__sdk__sample")).text
        version = connection.version
        await board.call("mcp__sdk__grow")
        await until(lambda: connection.version > version)
        await close(board)
    finally:
        old.end()
