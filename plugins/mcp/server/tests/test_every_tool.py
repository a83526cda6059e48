"""Every built-in tool, listed and called: by the official client in both eras, and by the Inspector's command line."""

import json
import os
import subprocess

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from tests.mcp_clients import over_pipes, text_of
from tests.mcp_serving import TOKEN, World
from tests.node import NODE, installed
from tests.pictures import picture

from pegboard import Board, ExternalTool
from pegboard.hosting import OWNERS
from pegboard_mcp_server.tool_list import page_of_tools

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
INSPECTOR = "@modelcontextprotocol/inspector"
PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+new\n*** End Patch\n"
CALLS = {
    "Agent": ({"description": "look", "prompt": "Look.", "subagent_type": "NoSuchKind"}, "NoSuchKind"),
    "ApplyPatch": ({"input": PATCH}, "patched.txt"),
    "Bash": ({"command": "echo from the shell"}, "from the shell"),
    "Edit": ({"file_path": "edited.txt", "old_string": "old", "new_string": "new"}, "edited.txt"),
    "Glob": ({"pattern": "*.txt"}, "a.txt"),
    "Grep": ({"pattern": "hello", "output_mode": "content"}, "hello"),
    "REPL": ({"language": "python", "code": "6 * 7"}, "42"),
    "Read": ({"file_path": "a.txt"}, "1\thello"),
    "TaskOutput": ({}, ""),
    "TaskStop": ({"task_id": "task-none"}, "task-none"),
    "ToolSearch": ({"query": "select:Read"}, "Read"),
    "WebFetch": ({"url": "http://127.0.0.1/", "prompt": "What is there?"}, "127.0.0.1"),
    "WebSearch": ({"query": "anything"}, "No web search is set up."),
    "Write": ({"file_path": "written.txt", "content": "new\n"}, "written.txt"),
}
ALL = OWNERS.keys() - {"task_complete"}
"""Every tool but the one that exists only in runs that go on until it is called."""
NAMES = sorted(ALL - {"EnterPlanMode"})
"""Every tool but the one after which nothing may change."""
NOTHING: tuple[dict[str, str], str] = ({}, "")
FAILS = {"Agent", "TaskStop", "WebFetch", "WebSearch"}
"""Without such an agent, such a task, a public address and a search service these can only say so."""


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    (made.project / "a.txt").write_text("hello\n")
    (made.project / "edited.txt").write_text("old\n")
    (made.project / "dot.png").write_bytes(picture())
    return made


def check(name, is_error, said):
    """Tools that need more than an example are called without arguments, and say what they need."""
    assert said
    if name in CALLS:
        assert is_error == (name in FAILS), said
        assert CALLS[name][1] in said


async def allow(ctx, params):
    return types.ElicitResult(action="accept", content={"decision": "allow once"})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_lists_and_calls_every_tool(world, mode):
    async with over_pipes(world, mode, "--permission-mode", "acceptEdits", elicitation_callback=allow) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() >= ALL
        assert tools["Read"].annotations.model_dump(exclude_none=True) == {
            "read_only_hint": True,
            "destructive_hint": False,
            "idempotent_hint": True,
            "open_world_hint": False,
        }
        assert tools["Bash"].annotations.read_only_hint is False
        assert tools["Bash"].annotations.destructive_hint is True
        assert tools["WebFetch"].annotations.open_world_hint is True
        for name in NAMES:
            result = await client.call_tool(name, CALLS.get(name, NOTHING)[0])
            check(name, result.is_error, text_of(result))
        await _check_results(client)
        assert "The mode is plan" in text_of(await client.call_tool("EnterPlanMode", {}))
    assert (world.project / "written.txt").read_text() == "new\n"


async def _check_results(client):
    """Pictures, values, long output and wrong arguments, as a client sees them."""
    blocks = (await client.call_tool("Read", {"file_path": "dot.png"})).content
    [shown] = [block for block in blocks if block.type != "text"]
    assert (shown.type, shown.mime_type) == ("image", "image/png")
    short = await client.call_tool("Bash", {"command": "echo x"})
    assert short.structured_content["stdout"] == "x"
    progress = []

    async def note(done, total, message):
        progress.append(message)

    long = await client.call_tool("Bash", {"command": "seq 100000"}, progress_callback=note)
    assert len(text_of(long)) < 40_000
    assert progress
    wrong = await client.call_tool("Read", {"file": "a.txt"})
    assert wrong.is_error
    assert "file_path" in text_of(wrong)


@pytest.fixture(scope="module")
def inspector():
    return installed(f"{INSPECTOR}@2.12.0") / ".bin/mcp-inspector"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls_the_tools(world, inspector, era):
    """The short form calls two tools in one era and one in the other; PEGBOARD_TEST_SLOW=1 all of them in both."""
    with world.http(
        "--permission-mode", "acceptEdits", "--allow", "TaskStop", "--allow", "Agent", "--allow", "REPL"
    ) as server:

        def inspect(*words):
            home = {**os.environ, "HOME": str(world.home)}
            place = [server.url, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}"]
            command = [NODE, str(inspector), "--cli", *place, "--protocol-era", era, "--format", "json", "-q", *words]
            return subprocess.run(command, capture_output=True, text=True, check=False, env=home)

        listed = inspect("--method", "tools/list")
        assert listed.returncode == 0, listed.stderr
        names = {tool["name"] for tool in json.loads(listed.stdout)["result"]["tools"]}
        assert names >= ALL
        for name in NAMES if SLOW else ("Read", "TaskStop")[: 1 if era == "legacy" else 2]:
            arguments = json.dumps(CALLS.get(name, NOTHING)[0])
            done = inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", arguments)
            assert done.returncode in (0, 5), done.stdout + done.stderr  # 5 is a result that is an error.
            said = "\n".join(block.get("text", "") for block in json.loads(done.stdout)["result"]["content"])
            check(name, done.returncode == 5, said)


def test_a_long_list_has_pages(tmp_path):
    schema = {"type": "object", "properties": {}}
    many = [ExternalTool(f"many_{n}", "One of many.", schema, lambda args, ctx: "") for n in range(1200)]
    board = Board.load(cwd=tmp_path, tools=many)
    names, cursor = [], None
    while True:
        page = page_of_tools(board, cursor)
        names += [tool.name for tool in page.tools]
        if (cursor := page.next_cursor) is None:
            break
    assert names == board.pool.names
    for wrong in ("x", "-1", str(len(names)), "²"):
        with pytest.raises(MCPError):
            page_of_tools(board, wrong)
