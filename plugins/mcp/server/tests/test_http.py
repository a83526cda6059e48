"""`pegboard mcp serve --http`: who may come in, clients that do not mix, and clients that leave."""

import http.client
import json
from pathlib import Path

import anyio
import pytest
from tests.mcp_clients import over_http
from tests.mcp_clients import text_of as text
from tests.mcp_serving import ELDER, TOKEN, World, processes_with, wait_for

OTHER = "another-token-for-another-client"
ADDRESS = "127.0.0.2"
"""For the protocol library this is not loopback: what it checks by default only there must be checked here too."""


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("http"))
    world.plugin("conformance_tools", Path(__file__).with_name("conformance_tools.py"))
    (world.project / "sub").mkdir()
    (world.project / "a.txt").write_text("hello\n")
    tokens = world.home / "tokens"
    tokens.write_text(f"{OTHER}\n")
    tokens.chmod(0o600)
    words = ["--token-file", str(tokens), "--permission-mode", "acceptEdits", "--allow", "Bash(sleep *)"]
    with world.http(*words, address=f"{ADDRESS}:0") as listening:
        listening.world = world
        yield listening


def request(server, headers, path="/mcp", method="POST", body=None):
    connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    data = json.dumps(body or {}).encode()
    every = {"Host": f"{ADDRESS}:{server.port}", "Authorization": f"Bearer {TOKEN}", "Content-Length": str(len(data))}
    every |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for name, value in {**every, **headers}.items():
        if value is not None:
            connection.putheader(name, value.replace("PORT", str(server.port)))
    connection.endheaders(data)
    return connection


def status(*given, **named):
    connection = request(*given, **named)
    try:
        answer = connection.getresponse()
        answer.read()
        return answer.status, dict(answer.getheaders())
    finally:
        connection.close()


INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": ELDER}


@pytest.mark.parametrize("path", ["/mcp", "/", "/elsewhere"])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:PORT"}, 421),
        ({"Host": "127.0.0.2:1"}, 421),
        ({"Host": None}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.2:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
    ],
)
def test_no_request_comes_in_under_another_name_from_another_page_or_without_a_token(server, path, headers, expected):
    found, answered = status(server, headers, path, body=INITIALIZE)
    assert found == expected
    if expected == 401:
        assert answered["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("headers", [{}, {"Host": "localhost:PORT", "Origin": "http://127.0.0.2:PORT"}])
def test_a_request_under_a_name_of_the_server_comes_in(server, headers):
    assert status(server, headers, body=INITIALIZE)[0] == 200


def test_an_older_client_is_told_over_http_too_that_tools_may_change(server):
    """The protocol library says so by itself only to clients that start the server."""
    connection = request(server, {}, body=INITIALIZE)
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    [data] = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
    assert json.loads(data)["result"]["capabilities"]["tools"] == {"listChanged": True}


def test_the_token_is_not_said_where_it_was_given(server):
    assert TOKEN not in server.log.read_text()
    assert server.port != 0


def connect(server, mode, token=TOKEN, **callbacks):
    return over_http(f"http://{ADDRESS}:{server.port}/mcp", mode, token, **callbacks)


async def test_older_clients_each_have_a_folder_and_files_of_their_own(server):
    async with connect(server, "legacy") as ann, connect(server, "legacy") as ben:
        await ann.call_tool("Bash", {"command": "cd sub"})
        where = [text(await client.call_tool("Bash", {"command": "pwd"})) for client in (ann, ben)]
        assert where == [str(server.world.project / "sub"), str(server.world.project)]
        path = str(server.world.project / "a.txt")
        await ann.call_tool("Read", {"file_path": path})
        write = {"file_path": path, "content": "bye\n"}
        assert (await ben.call_tool("Write", write)).is_error  # It has not read the file.
        assert not (await ann.call_tool("Write", write)).is_error


async def test_newer_clients_with_different_tokens_have_files_of_their_own(server):
    path = server.world.project / "b.txt"
    path.write_text("hello\n")
    write = {"file_path": str(path), "content": "bye\n"}
    async with connect(server, "auto") as ann, connect(server, "auto", OTHER) as ben:
        await ann.call_tool("Read", {"file_path": str(path)})
        assert (await ben.call_tool("Write", write)).is_error  # It has not read the file.
        assert not (await ann.call_tool("Write", write)).is_error
    assert path.read_text() == "bye\n"


def open_session(server):
    connection = request(server, {}, body=INITIALIZE)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.headers["mcp-session-id"]


def test_a_session_belongs_to_the_token_that_opened_it(server):
    session = {"Mcp-Session-Id": open_session(server)}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert status(server, session, body=body)[0] == 200
    assert status(server, {**session, "Authorization": f"Bearer {OTHER}"}, body=body)[0] == 404


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize(("era", "mark"), [("older", "87651"), ("newer", "87652")])
def test_a_client_that_hangs_up_ends_its_call(server, era, mark):
    params = {"name": "Bash", "arguments": {"command": f"sleep {mark}"}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Bash"}
    if era == "older":
        headers = {"Mcp-Session-Id": open_session(server), "MCP-Protocol-Version": "2025-11-25"}
    else:
        params["_meta"] = META
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    connection = request(server, headers, body=body)
    wait_for(lambda: processes_with(mark), server.process)
    connection.sock.close()
    connection.close()
    wait_for(lambda: not processes_with(mark), server.process)


def test_a_deleted_session_ends_its_calls(server):
    headers = {"Mcp-Session-Id": open_session(server), "MCP-Protocol-Version": "2025-11-25"}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    body["params"] = {"name": "Bash", "arguments": {"command": "sleep 87653"}}
    connection = request(server, headers, body=body)
    wait_for(lambda: processes_with("87653"), server.process)
    assert status(server, headers, method="DELETE")[0] == 200
    wait_for(lambda: not processes_with("87653"), server.process)
    connection.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_of_both_eras_hear_of_changed_tools(server, mode):
    heard = anyio.Event()

    async def hear(message):
        if type(message).__name__ == "ToolListChangedNotification":
            heard.set()

    async with connect(server, mode, message_handler=hear) as client:
        before = {tool.name for tool in (await client.list_tools()).tools}
        with anyio.fail_after(60):
            if mode == "auto":
                async with client.listen(tools_list_changed=True) as news:
                    await client.call_tool("test_trigger_tool_change", {})
                    async for _ in news:
                        break
            else:
                await client.call_tool("test_trigger_tool_change", {})
                await heard.wait()
        after = {tool.name for tool in (await client.list_tools()).tools}
        assert len(after - before) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_takes_too_long_for_its_client_is_ended(server, mode):
    mark = "87654" if mode == "auto" else "87655"
    async with connect(server, mode) as client:
        with anyio.move_on_after(60) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "Bash", {"command": f"sleep {mark}"})
                await anyio.to_thread.run_sync(wait_for, lambda: processes_with(mark))
                group.cancel_scope.cancel()
        assert not scope.cancelled_caught
        await anyio.to_thread.run_sync(wait_for, lambda: not processes_with(mark))
        assert text(await client.call_tool("test_simple_text", {})).startswith("This is a simple text")
