"""What was sent once is sent again byte for byte, while the world around the session changes."""

import itertools
import json
import subprocess
from dataclasses import replace

import anyio
import pytest

from pegboard import Board, hookimpl
from pegboard_anthropic import AnthropicProvider
from pegboard_prompt.environment import Environment
from pegboard_session import ReplayProvider, Session, Transcript, restore

from .sse import SseServer, message, text, tool_use


class Clock:
    """A plugin whose session believes what it says about the date."""

    date = "2026-11-17 (Tuesday)"

    @hookimpl(priority=-1000)
    def register_session_services(self, session):
        return {"environment": Environment(session, lambda: self.date)}


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    repo = tmp_path / "repo"
    (repo / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=repo, check=True)
    (repo / "CLAUDE.md").write_text("Use tabs.")
    (repo / "sub/AGENTS.md").write_text("Below, use spaces.")
    (repo / "sub/a.txt").write_text("x")
    return repo


def open_session(repo, clock, server, **options):
    board = Board.load(cwd=repo, settings={"only": ["files", "search", "shell", "support", "host"]}, plugins=[clock])
    provider = AnthropicProvider(base_url=server.url, api_key="k")
    return Session(board, provider, model="claude-sonnet-5-5", **options)


def without_markers(value):
    if isinstance(value, dict):
        return {key: without_markers(item) for key, item in value.items() if key != "cache_control"}
    return [without_markers(item) for item in value] if isinstance(value, list) else value


def assert_each_request_extends_the_one_before(requests):
    for earlier, later in itertools.pairwise(requests):
        before, after = earlier.raw, later.raw
        end = before.index(b'"messages":')
        assert after[:end] == before[:end]  # model, limits, system and tools
        assert b'"system":' in before[:end]
        assert b'"tools":' in before[:end]
        old, new = (
            [json.dumps(without_markers(sent)) for sent in request.body["messages"]] for request in (earlier, later)
        )
        assert new[: len(old)] == old
        assert len(new) > len(old)


def reminders_in(request):
    blocks = request.body["messages"][-1]["content"]
    return "\n".join(b["text"] for b in blocks if b["type"] == "text" and b["text"].startswith("<system-reminder>"))


SCRIPT = [
    message(tool_use("Read", {"file_path": "sub/a.txt"}, "t1")),
    message(text("One.")),
    message(text("Two.")),
    message(text("Three.")),
    message(text("Four.")),
]


def test_date_mode_branch_and_memory_files_change_nothing_that_was_sent(repo, tmp_path):
    clock = Clock()
    with SseServer(SCRIPT) as server:

        async def main():
            path = tmp_path / "t.jsonl"
            async with open_session(repo, clock, server, transcript=Transcript(path)) as session:
                await session.run("First")
                clock.date = "2026-11-18 (Wednesday)"
                session.ctx = replace(session.ctx, mode="plan")
                await session.run("Second")
                (repo / ".git/HEAD").write_text("ref: refs/heads/feature\n")
                (repo / "CLAUDE.md").write_text("Use two tabs.")
                (repo / "AGENTS.md").write_text("New.")
                await session.run("Third")
                await session.provider.aclose()
            clock.date = "2026-11-19 (Thursday)"
            (repo / ".git/HEAD").write_text("ref: refs/heads/main\n")
            later = open_session(repo, clock, server, transcript=Transcript(path))
            later.resume(restore(path), replace(later.ctx, mode="plan"))
            async with later:
                await later.run("Fourth, in another process")
                await later.provider.aclose()

        anyio.run(main)
        requests = list(server.requests)
    assert len(requests) == 5
    assert_each_request_extends_the_one_before(requests)
    assert "Below, use spaces." in reminders_in(requests[1])
    second = reminders_in(requests[2])
    assert "The date is now 2026-11-18 (Wednesday).\nThe permission mode is now plan." in second
    third = reminders_in(requests[3])
    assert "The git branch is now feature." in third
    assert "has changed. It now says:\n\nUse two tabs." in third
    assert "AGENTS.md (the project's):\n\nNew." in third
    fourth = reminders_in(requests[4])
    assert "The date is now 2026-11-19 (Thursday).\nThe git branch is now main." in fourth
    assert "tabs" not in fourth
    environment = requests[0].body["system"][-1]["text"]
    assert f"Working directory: {repo}" in environment
    assert "Git: branch main, with uncommitted changes" in environment
    assert "Date: 2026-11-17 (Tuesday)" in environment


@pytest.mark.parametrize(("kind", "is_shown"), [("general", True), ("Explore", False), ("scribe", False)])
async def test_sub_agents_are_shown_memory_files_as_their_definition_says(repo, kind, is_shown):
    (repo / ".claude/agents").mkdir(parents=True)
    head = "---\nname: scribe\ndescription: Writes.\nmemoryFiles: false\n---\nWrite."
    (repo / ".claude/agents/scribe.md").write_text(head)
    call = {"type": "tool_use", "name": "Agent", "input": {"description": "x", "prompt": "Go", "subagent_type": kind}}
    turns = [
        {"content": [call]},
        {"agent": kind, "content": [{"type": "text", "text": "Report."}]},
        {"content": [{"type": "text", "text": "Done."}]},
    ]
    provider = ReplayProvider(turns)
    board = Board.load(cwd=repo, settings={"only": ["files", "search", "agents", "support", "host"]})
    async with Session(board, provider) as session:
        await session.run("Go")
    [child] = provider.children
    [request] = child.requests
    assert ("Use tabs." in str(request.messages)) is is_shown
    assert any("Working directory" in part for part in request.system)
    assert not any("You are an assistant that works" in part for part in request.system)
