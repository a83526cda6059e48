"""`pegboard mcp serve` over standard input and output, with real processes on both ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mcp_serving import SECONDS, World, processes_with, runs, wait_for

from pegboard_mcp_server.client_roots import folders_of

NOISY = """
import os, subprocess, sys
from pegboard import Input, hookimpl, tool

class NoisyInput(Input):
    pass

@tool(read_only=True, concurrency_safe=True, open_world=False)
def Noisy(args: NoisyInput, ctx) -> str:
    "Print in every way there is."
    print("a line of python")
    os.write(1, b'{"jsonrpc": "2.0", "id": 1, "result": {}}\\n')
    subprocess.run(["echo", "a line of a child"])
    return f"read {sys.stdin.read()!r}"

@hookimpl
def register_tools():
    return [Noisy]

@hookimpl
def edit_definition(definition):
    if os.path.exists(os.path.join(os.environ["HOME"], "break")):
        raise ValueError("/a/secret/path")
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("stdio"))
    made.plugin("noisy", NOISY)
    (made.project / "a.txt").write_text("hello\n")
    return made


@pytest.fixture(scope="module")
def server(world):
    with world.pipes("--allow", "Bash(sleep *)") as pipes:
        pipes.about = pipes.open()
        yield pipes


def test_an_older_client_is_told_that_tools_may_change(server):
    assert server.about["capabilities"]["tools"] == {"listChanged": True}
    assert server.about["serverInfo"]["name"] == "pegboard"


def test_what_a_tool_prints_does_not_reach_the_protocol(server):
    wanted = server.send("tools/call", {"name": "Noisy", "arguments": {}})
    answer = server.read()
    assert (answer["id"], answer["result"]["content"]) == (wanted, [{"type": "text", "text": "read ''"}])


def test_a_file_name_that_is_not_text_is_spelled_out(server, world):
    (world.project / "odd").mkdir(exist_ok=True)
    with open(bytes(world.project / "odd") + b"/bad\xff.txt", "wb"):
        pass
    result = server.call("Glob", pattern="odd/*")
    assert "bad\\xff.txt" in result["content"][0]["text"]
    assert "bad\\udcff.txt" in json.dumps(result["structuredContent"]).replace("\\\\", "\\")
    assert server.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"this is no JSON", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b'[{"jsonrpc": "2.0", "id": 5, "method": "ping"}]', None, -32600),
        (b'{"jsonrpc": "1.0", "id": "mine", "method": "ping"}', "mine", -32600),
        (rb'{"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "\ud800"}}', 77, -32600),
    ],
)
def test_what_is_no_request_is_answered_all_the_same(server, line, number, code):
    server.write(line + b"\n")
    answer = server.read()
    assert (answer["id"], answer["error"]["code"]) == (number, code)


def test_a_root_that_is_no_folder_counts_for_nothing():
    assert folders_of(["file:///%00", "file:///\ud800", "https://[", "file:///proc/self"])[1:] == []


def test_a_call_that_would_ask_is_denied_with_the_rule_to_add(server, world):
    result = server.call("Write", file_path="new.txt", content="x")
    assert result["isError"]
    [said] = [block["text"] for block in result["content"]]
    rule = f"Edit(//{str(world.project)[1:]}/new.txt)"
    assert said.startswith("Write was denied. Write can change something. This MCP client cannot ask a person")
    assert f'{{"permissions": {{"allow": ["{rule}"]}}}}' in said
    assert f"--allow '{rule}'" in said
    assert not (world.project / "new.txt").exists()


def test_a_denial_without_an_exact_rule_names_the_tool(server):
    said = server.call("TaskStop", task_id="task-none")["content"][0]["text"]
    assert "To allow every call to it, add" in said
    assert "--allow 'TaskStop'." in said


def test_lines_that_are_no_messages_are_survived(server):
    server.write(b"this is not JSON")
    server.write(b'{"jsonrpc": "2.0"}')
    assert server.call("Read", file_path="a.txt")["content"][0]["text"] == "1\thello"


def test_an_exception_does_not_reach_an_older_client(server, world):
    (world.home / "break").touch()
    try:
        error = server.ask("tools/list")["error"]
    finally:
        (world.home / "break").unlink()
    assert (error["code"], error["message"]) == (-32603, "Internal error")


def test_a_cancelled_call_ends_with_all_it_started(server):
    call = server.send("tools/call", {"name": "Bash", "arguments": {"command": "sleep 98761"}})
    wait_for(lambda: processes_with("98761"))
    server.tell("notifications/cancelled", {"requestId": call, "reason": "enough"})
    wait_for(lambda: not processes_with("98761"))
    assert server.call("Read", file_path="a.txt")["isError"] is False


def test_an_unknown_tool_is_an_error_of_the_request(server):
    error = server.ask("tools/call", {"name": "Reed", "arguments": {}})["error"]
    assert error["code"] == -32602
    assert error["message"].startswith("There is no tool named 'Reed'. Did you mean Read")


@pytest.mark.parametrize(("how", "mark", "code"), [("input ends", "98762", 0), ("SIGTERM", "98763", 143)])
def test_the_end_takes_everything_along(world, how, mark, code):
    with world.pipes("--allow", "Bash(sleep *)") as pipes:
        pipes.open()
        pipes.send("tools/call", {"name": "Bash", "arguments": {"command": f"sleep {mark}"}})
        wait_for(lambda: processes_with(mark))
        if how == "SIGTERM":
            pipes.process.send_signal(signal.SIGTERM)
        else:
            pipes.process.stdin.close()
        assert pipes.process.wait(SECONDS) == code
        assert not processes_with(mark)


def test_a_client_that_is_killed_takes_everything_along(world):
    program = f"""
from pathlib import Path
from tests.mcp_serving import World
with World(Path({str(world.folder)!r})).pipes("--allow", "Bash(sleep *)") as pipes:
    pipes.open()
    print(pipes.process.pid, flush=True)
    pipes.call("Bash", command="sleep 98764")
"""
    command, root = [sys.executable, "-c", program], Path(__file__).parents[4]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as client:
        server = int(client.stdout.readline())
        wait_for(lambda: processes_with("98764"))
        client.kill()
    wait_for(lambda: not processes_with("98764") and not runs(server))


def test_filters_and_modes_are_those_of_every_command(world):
    with world.pipes("--tools", "Read,Write", "--deny", "Read(a.txt)", "--permission-mode", "acceptEdits") as pipes:
        pipes.open()
        tools = pipes.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["Read", "Write"]
        assert "denied" in pipes.call("Read", file_path="a.txt")["content"][0]["text"]
        assert pipes.call("Write", file_path="made.txt", content="x")["isError"] is False
    [log] = world.home.rglob("audit*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {("Read", "deny"), ("Write", "allow")} <= {(line.get("tool"), line.get("decision")) for line in lines}
