"""Whole conversations over this wire: a session with tools, retries, and the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pegboard import Board, Context, Input, tool
from pegboard.settings import Settings
from pegboard_openai import OpenAIProvider
from pegboard_session import Retries, Session
from pegboard_testing.warm import warm

from .chat import DROP, END, ChatServer, Refusal, delta, says, tool_call, usage


class AddInput(Input):
    a: int
    b: int


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Add(args: AddInput, ctx: Context) -> str:
    """Add two numbers."""
    return str(args.a + args.b)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(Settings(cwd=str(tmp_path)), [], tools=[Add], env={"HOME": str(tmp_path)})


CALLS = [
    tool_call(0, '{"a": 1, "b"', id="x", name="Add"),
    tool_call(0, ": 2}"),
    tool_call(1, '{"a": 3, "b": 4}', id="y", name="Add"),
    delta("tool_calls"),
    usage(),
    END,
]


async def test_a_session_runs_calls_and_answers_them(board: Board) -> None:
    with ChatServer([CALLS, says("Three", " and seven.")]) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        async with Session(board, provider, model="tiny") as session:
            outcome = await session.run("What is 1 + 2, and 3 + 4?")
        await provider.aclose()
    assert outcome.text == "Three and seven."
    assert [message["role"] for message in server.requests[1].body["messages"]] == ["user", "assistant", "tool", "tool"]
    results = server.requests[1].body["messages"][2:]
    assert [(result["tool_call_id"], result["content"]) for result in results] == [("x", "3"), ("y", "7")]
    assert session.usage.as_data()["input_tokens"] == 20


async def test_what_comes_before_stays_the_same_in_the_next_request(board: Board) -> None:
    with ChatServer([CALLS, says("Done."), says("Again.")]) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        async with Session(board, provider, model="tiny") as session:
            await session.run("Go")
            await session.run("And now?")
        await provider.aclose()
    bodies = [request.body for request in server.requests]
    for earlier, later in pairwise(bodies):
        assert later["tools"] == earlier["tools"]
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]


async def test_a_session_asks_again_when_the_server_is_busy_or_hangs_up(board: Board) -> None:
    busy = Refusal(503, raw=b'{"error": {"message": "Loading model"}}', headers={"retry-after-ms": "10"})
    with ChatServer([busy, [delta(content="Hel"), (0.0, DROP)], says("Hello.")]) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        async with Session(board, provider, model="tiny", retries=Retries(first=0.01)) as session:
            outcome = await session.run("Hi")
        await provider.aclose()
    assert outcome.text == "Hello."
    assert len(server.requests) == 3


async def test_a_call_whose_input_is_not_json_is_refused_and_the_model_told(board: Board) -> None:
    broken = [tool_call(0, '{"a": 1, "b"', id="x", name="Add"), delta("tool_calls"), END]
    with ChatServer([broken, says("Sorry.")]) as server:
        provider = OpenAIProvider(base_url=server.base_url)
        async with Session(board, provider, model="tiny") as session:
            await session.run("Go")
        await provider.aclose()
    told = server.requests[1].body["messages"][-1]
    assert told["role"] == "tool"
    assert "JSON" in told["content"]


def run(tmp_path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    return subprocess.run(
        [sys.executable, "-m", "pegboard_cli", "run", *words],
        cwd=tmp_path,
        env={"HOME": str(warm(tmp_path)), "PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


READS: Any = [tool_call(0, '{"file_path": "a.txt"}', id="x", name="Read"), delta("tool_calls"), usage(), END]


def test_the_command_line_chooses_the_provider_and_its_model(tmp_path: Path) -> None:
    with ChatServer([READS, says("It has two lines.")]) as server:
        env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "tiny"}
        done = run(tmp_path, "--provider", "openai", "How long is a.txt?", **env)
    assert (done.returncode, done.stdout.strip()) == (0, "It has two lines."), done.stderr
    assert server.requests[0].body["model"] == "tiny"
    assert "one" in server.requests[1].body["messages"][-1]["content"]


def test_settings_choose_the_provider_its_address_key_and_headers(tmp_path: Path) -> None:
    with ChatServer([says("Hello.")]) as server:
        chosen = {"baseUrl": server.base_url, "model": "tiny", "apiKeyVariable": "MY_KEY", "headers": {"X-One": "$TWO"}}
        (tmp_path / "settings.json").write_text(json.dumps({"provider": "openai", "openai": chosen}))
        done = run(tmp_path, "--settings", str(tmp_path / "settings.json"), "Hi", MY_KEY="k", TWO="2")
    assert (done.returncode, done.stdout.strip()) == (0, "Hello."), done.stderr
    headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-one"]) == ("Bearer k", "2")
    assert server.requests[0].body["model"] == "tiny"


def test_a_project_that_is_not_trusted_cannot_redirect_requests(tmp_path: Path) -> None:
    with ChatServer([says("Hello.")]) as mine, ChatServer([says("Stolen.")]) as theirs:
        project = tmp_path / ".pegboard" / "settings.json"
        project.parent.mkdir()
        project.write_text(json.dumps({"openai": {"baseUrl": theirs.base_url}}))
        env = {"OPENAI_BASE_URL": mine.base_url, "OPENAI_API_KEY": "secret"}
        done = run(tmp_path, "--provider", "openai", "--model", "tiny", "Hi", **env)
    assert done.stdout.strip() == "Hello.", done.stderr
    assert theirs.requests == []


def test_without_a_key_or_a_model_the_command_says_what_to_set(tmp_path: Path) -> None:
    keyless = run(tmp_path, "--provider", "openai", "--model", "m", "Hi")
    assert (keyless.returncode, keyless.stderr.strip()) == (
        5,
        "pegboard: OPENAI_API_KEY is not set. Set it, or play a script with --replay.",
    )
    modelless = run(tmp_path, "--provider", "openai", "Hi", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert modelless.returncode == 5
    assert "No model is set. Name one with --model" in modelless.stderr


def test_an_unknown_provider_is_refused_with_those_that_are_here(tmp_path: Path) -> None:
    done = run(tmp_path, "--provider", "opanai", "Hi")
    assert done.returncode == 5
    assert (
        "There is no provider 'opanai'. Did you mean 'openai'? The providers here are: anthropic, openai."
        in done.stderr
    )


IMPORTS = """
import sys
from pegboard import Board
from pegboard_session import find_providers
assert find_providers(Board.load())["openai"].name == "openai"
print(sorted({"httpx2", "httpcore2", "ssl", "openai", "anthropic"} & set(sys.modules)))
"""


def test_nothing_heavy_is_imported_before_the_first_request(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        cwd=tmp_path,
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[]\n", done.stderr
