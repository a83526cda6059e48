"""`pegboard mcp`: what people type."""

import json
import subprocess
import sys

import pytest

from .world import raw, tool


@pytest.fixture
def pegboard(world):
    def run(*words, code=0):
        words = [sys.executable, "-m", "pegboard_cli", *words]
        made = subprocess.run(words, cwd=world.project, env=world.env, capture_output=True, text=True)
        assert made.returncode == code, made.stdout + made.stderr
        return made.stdout + made.stderr

    return run


def test_a_server_is_added_tried_used_and_removed(world, pegboard):
    entry = raw()
    assert "Added notes to" in pegboard("mcp", "add", "--env", "A=b", "notes", entry["command"], *entry["args"])
    settings = json.loads((world.home / ".pegboard/settings.json").read_text())
    assert settings == {"mcpServers": {"notes": {**entry, "env": {"A": "b"}}}}
    assert "already has a server 'notes'" in pegboard("mcp", "add", "notes", "x", code=2)
    assert "It was never reached." in pegboard("mcp", "list")
    assert pegboard("mcp", "test", "notes") == "notes: connected, 1 tool\n  mcp__notes__echo\n"
    assert "mcp__notes__echo" in pegboard("tools")
    given = json.dumps({"mine": entry})
    assert "mine: connected, 1 tool" in pegboard("mcp", "test", "--mcp-config", given, "mine")
    assert "mcp__mine__echo" in pegboard("tools", "--mcp-config", given)
    assert pegboard("call", "--yes", "mcp__notes__echo", "text=hello") == "hello\n"
    assert "The MCP server notes: 1 tool when it was last reached." in pegboard("doctor", "--json")
    (row,) = json.loads(pegboard("mcp", "list", "--json"))
    assert (row["name"], row["type"], row["tools"], row["problem"]) == ("notes", "stdio", ["echo"], "")
    assert "Removed notes" in pegboard("mcp", "remove", "notes")
    assert "There are no MCP servers here." in pegboard("mcp", "list")


def test_wrong_words_are_explained(world, pegboard):
    assert "There is no sub-command 'lst'. Did you mean list?" in pegboard("mcp", "lst", code=2)
    assert "There is no MCP server 'nothing'. The servers are: none." in pegboard("mcp", "test", "nothing", code=2)
    assert pegboard("mcp", "add", code=2).endswith("the following arguments are required: NAME, COMMAND|URL\n")
    assert "takes no arguments" in pegboard("mcp", "add", "docs", "https://example.com/mcp", "x", code=2)
    pegboard("mcp", "add", "broken", "no-such-program-anywhere")
    assert "broken: The program no-such-program-anywhere was not found." in pegboard("mcp", "test", code=1)
    assert "The MCP server broken: The program no-such-program-anywhere was not found." in pegboard("doctor", code=1)
    assert "only servers with a URL have logins" in pegboard("mcp", "login", "broken", code=2)


def test_a_changed_project_server_is_approved_by_hand(world, pegboard):
    (world.project / ".git").mkdir()
    assert "Added notes to" in pegboard("mcp", "add", "--scope", "project", "notes", *[sys.executable, *raw()["args"]])
    assert "until you trust the project" in pegboard("mcp", "list")
    pegboard("trust")
    pegboard("mcp", "test", "notes")
    path = world.project / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {"notes": raw(tools=[tool("other")])}}))
    assert "Its command or address" in pegboard("mcp", "test", "notes", code=1)
    assert "Nothing was approved." in pegboard("mcp", "approve", "notes", code=1)
    shown = pegboard("mcp", "approve", "--yes", "notes")
    assert "Approved notes." in shown
    assert '+  "{\\"tools\\"' in shown
    assert "mcp__notes__other" in pegboard("mcp", "test", "notes")
