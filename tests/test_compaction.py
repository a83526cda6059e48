"""Long conversations against a service with a window: nothing overflows, nothing is lost, no crash halves anything."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from pegboard import Board, Context, Input, tool
from pegboard.settings import load
from pegboard_anthropic import AnthropicProvider
from pegboard_session import Session, Transcript, restore
from pegboard_session.cleared_results import drop_thinking

from .sse import SseServer
from .wire import Model, fault_of

SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
SIZE = 20_000
FACT = "FACT: the port is 48213."


@pytest.fixture(autouse=True)
def _at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_STATE_HOME", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


class FetchInput(Input):
    number: int


@tool(read_only=True, concurrency_safe=True, open_world=False)
def Fetch(args: FetchInput, ctx: Context) -> str:
    """Read one of the large files."""
    line = f"{args.number:06d} a line of a large file that nobody needs for long\n"
    return (line * (SIZE // len(line) + 1))[:SIZE]


def talk(tmp_path, server, prompts, **models):
    """A session through the real provider; what its transcript holds in the end."""
    settings = load(tmp_path, application={"models": models})
    path = tmp_path / "talk.jsonl"

    async def main():
        provider = AnthropicProvider(base_url=server.url, api_key="test-key")
        board = Board.load(settings=settings, tools=[Fetch])
        model = next(iter(models), "claude-sonnet-4-5")
        async with Session(board, provider, model=model, transcript=Transcript(path), max_turns=1000) as session:
            outcomes = [await session.run(prompt) for prompt in prompts]
        await provider.aclose()
        return outcomes, session

    outcomes, session = anyio.run(main)
    return outcomes, session, path


@pytest.mark.parametrize(
    ("window", "turns", "binds"), [(200_000, 400, False), (200_000, 400, True) if SLOW else (30_000, 60, True)]
)
def test_four_hundred_large_results_never_overflow_and_the_first_fact_is_known_at_the_end(
    tmp_path, window, turns, binds
):
    model = Model(lambda n: {"number": n} if n < turns else None, window=window, binds=binds)
    models = {"claude-strict": {"window": window, "maxOutput": 64_000, "bindsThinking": binds}}
    with SseServer(model) as server:
        outcomes, session, path = talk(tmp_path, server, [f"{FACT} Read all files.", "What is the port?"], **models)
    assert model.faults == []
    assert [outcome.stopped_by for outcome in outcomes] == ["end", "end"]
    assert FACT in outcomes[1].text
    assert model.answered == turns + 1
    assert model.summaries >= 1
    assert model.most <= window
    whole = restore(path, whole=True)
    results = [block for said in whole.messages for block in said["content"] if block["type"] == "tool_result"]
    assert len(results) == turns - 1, "the transcript keeps everything"
    assert all(len(block["content"][0]["text"]) == SIZE for block in results)
    again = restore(path).messages
    for messages in (again, session.messages):
        drop_thinking(messages)  # What is bound to another beginning is not sent again.
    assert again == session.messages, "resume starts from the summary"


CHILD = Path(__file__).with_name("compacting_child.py")


def run_child(path, delay):
    """Talk until the process dies: `delay` seconds after a summary has begun it is killed. Returns what it printed."""
    child = subprocess.Popen([sys.executable, str(CHILD), str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    printed = []
    try:
        for line in child.stdout:
            printed.append(line.strip())
            if line.startswith("compacting") and delay is not None:
                signal_after(child, delay)
                break
        printed += [line.strip() for line in child.stdout]
    finally:
        child.wait(30)
        child.stdout.close()
    return printed


def signal_after(child, delay):
    try:
        child.wait(delay)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)


@pytest.mark.timeout(3600 if SLOW else 300)  # A hundred processes, one after another.
def test_memory_files_and_the_environment_are_told_again_after_a_compaction(tmp_path, monkeypatch):
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/before\n")
    (tmp_path / "repo/AGENTS.md").write_text("Answer in rhymes.")
    board = Board.load(settings=load(tmp_path / "repo", application={}), tools=[Fetch])
    model = Model(lambda n: {"number": n} if n % 4 else None, window=200_000)

    async def main(url):
        provider = AnthropicProvider(base_url=url, api_key="test-key")
        async with Session(board, provider, model="claude-sonnet-4-5") as session:
            await session.run(f"{FACT} Read three files.")
            (tmp_path / "repo/.git/HEAD").write_text("ref: refs/heads/after\n")
            await session.run("Read three more files.")
            assert await session.compact()
            await session.run("Go on.")
        await provider.aclose()

    with SseServer(model) as server:
        anyio.run(main, server.url)
    assert (model.faults, model.summaries) == ([], 1)
    requests = [request.body for request in server.requests]
    place = next(n for n, body in enumerate(requests) if "Write that summary now." in str(body["messages"][-1]))
    before, after = requests[place - 1], requests[place + 1]
    assert len(after["messages"]) < len(before["messages"])
    told = str(after["messages"])
    assert FACT in told, "the summary"
    assert told.count("Answer in rhymes.") == 1, "pegboard-memory tells it again"
    assert told.count("The git branch is now after.") == 1, "pegboard-prompt tells what has changed since the beginning"
    assert f"The working directory is now {tmp_path}/repo." in told
    assert after["system"] == before["system"]


def test_a_process_that_is_killed_while_it_compacts_can_be_resumed(tmp_path):
    path = tmp_path / "talk.jsonl"
    seed = int(os.environ.get("PEGBOARD_TEST_SEED", random.randrange(10**6)))
    chance = random.Random(seed)
    for number in range(100 if SLOW else 4):
        delay = chance.choice([0.0, chance.uniform(0, 0.01), chance.uniform(0, 0.06)])
        run_child(path, delay)
        restored = restore(path)
        body = {"messages": [*restored.messages]}
        if body["messages"][-1]["role"] == "assistant":
            body["messages"].append({"role": "user", "content": [{"type": "text", "text": "Go on."}]})
        assert fault_of(body, binds=True) == "", f"seed {seed}, kill {number}, after {delay} s"
        assert FACT in str(restored.messages), f"seed {seed}, kill {number}, after {delay} s"
    printed = run_child(path, None)
    assert printed[-1] == f"answer {FACT}", f"seed {seed}"
    assert any(line.startswith("compacted") for line in printed)
