"""The fields of agent and skill files that reach further than words: hooks, mcpServers, memory, model and effort."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pegboard_session import ReplayProvider, Session, answer_slash_command

from .agents import _at_home, agent, make_board, of, results_of, text, turn, use, watching

__all__ = ["_at_home", "watching"]

SERVER = Path(__file__).parent / "asking_server.py"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def put(path: Path, fields: dict, body: str = "Do it.") -> None:
    """A file whose fields are JSON, which is YAML."""
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["---", *lines, "---", body]))


def define(folder: Path, **fields: object) -> None:
    put(folder / ".claude/agents/worker.md", {"name": "worker", "description": "Works.", **fields})


def skill(folder: Path, **fields: object) -> None:
    put(folder / ".claude/skills/care/SKILL.md", {"name": "care", "description": "Cares.", **fields})


def files(folder: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_text("The content.")


def hook(command: str, **group: object) -> list[dict]:
    more = group.pop("more", {})
    return [{**group, "hooks": [{"type": "command", "command": command, **more}]}]


async def talk(board, *turns, prompts=("Go",)):
    provider = ReplayProvider(list(turns))
    async with Session(board, provider, model="parent-model") as session:
        for prompt in prompts:
            await session.run(prompt)
    return session, provider


READ = use("Read", file_path="a.txt")
AGAIN = use("Read", file_path="b.txt")  # A file that was read before is not shown again.
START = turn(agent(subagent_type="worker", name="w"))


@pytest.mark.parametrize("trusted", [True, False])
async def test_hooks_of_an_agent_run_only_in_it_and_in_agents_below(tmp_path, watching, trusted):
    files(tmp_path)
    log = tmp_path.parent / f"{tmp_path.name}.log"
    log.touch()
    deny = f"jq -r '.agent_type // \"main\"' >> {log}; echo Secret. >&2; exit 2"
    define(tmp_path, hooks={"PreToolUse": hook(deny, matcher="Read"), "Stop": hook(f"jq -r .hook_event_name >> {log}")})
    board = make_board(tmp_path, watching, trusted=trusted, permissions={"allow": ["Agent"]})
    below = turn(agent(subagent_type="Explore", name="e"))
    inside = [of("w", READ), {"agent": "w", **below}, of("e", AGAIN), of("e", text("e")), of("w", text("w"))]
    session, provider = await talk(board, turn(READ), START, *inside, turn(AGAIN), turn(text("Done.")))
    assert [("The content." in results_of(session, at)[0]) for at in (2, 6)] == [True, True]
    (child,) = provider.children
    read = [json.dumps(one.requests[-1].messages) for one in (child, *child.children)]
    assert [("Secret." in said, "The content." in said) for said in read] == [(trusted, not trusted)] * 2
    assert log.read_text().split() == (["worker", "Explore", "SubagentStop"] if trusted else [])


async def test_hooks_that_are_switched_off_are_off_in_agents_too(tmp_path, watching):
    files(tmp_path)
    define(tmp_path, hooks={"PreToolUse": hook("exit 2")})
    board = make_board(tmp_path, watching, trusted=True, disableAllHooks=True, permissions={"allow": ["Agent"]})
    _, provider = await talk(board, START, of("w", READ), of("w", text("w")), turn(text("Done.")))
    assert "The content." in json.dumps(provider.children[0].requests[-1].messages)


@pytest.mark.parametrize("trusted", [True, False])
async def test_servers_of_an_agent_are_there_for_it_alone_and_end_with_it(tmp_path, watching, trusted):
    define(tmp_path, mcpServers=[{"asker": {"command": sys.executable, "args": [str(SERVER)]}}, "github"])
    rules = {"allow": ["Agent", "mcp__asker"]}
    board = make_board(tmp_path, watching, trusted=trusted, permissions=rules)
    ask = use("mcp__asker__ask")
    session, provider = await talk(board, turn(ask), START, of("w", ask), of("w", text("w")), turn(text("Done.")))
    assert "There is no tool named 'mcp__asker__ask'" in results_of(session)[0]
    (child,) = provider.children
    assert ("mcp__asker__ask" in [tool["name"] for tool in child.requests[0].tools]) is trusted
    assert ("accept {'colour': 'blue'}" in json.dumps(child.requests[1].messages)) is trusted
    assert not any("asker" in tool["name"] for request in provider.requests for tool in request.tools)
    assert not running(SERVER)


async def test_a_server_of_an_agent_obeys_the_rules_and_what_the_owner_denies(tmp_path, watching):
    define(tmp_path, mcpServers={"asker": {"command": sys.executable, "args": [str(SERVER)]}})
    ask = use("mcp__asker__ask")
    for given in (
        {"permissions": {"allow": ["Agent"], "deny": ["mcp__asker__ask"]}},
        {"mcp": {"deniedServers": ["*"]}},
    ):
        board = make_board(tmp_path, watching, trusted=True, **given)
        _, provider = await talk(board, START, of("w", ask), of("w", text("w")), turn(text("Done.")))
        assert "accept" not in json.dumps(provider.children[0].requests[1].messages)


def running(script: Path) -> list[str]:
    """The processes of a script that are there now."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(script).encode() in words:
            found.append(path.parent.name)
    return found


@pytest.mark.parametrize(
    ("scope", "place"),
    [
        ("user", "home/.claude/agent-memory"),
        ("project", ".claude/agent-memory"),
        ("local", ".pegboard/agent-memory-local"),
    ],
)
async def test_an_agent_is_told_of_its_memory_and_may_read_it(tmp_path, watching, scope, place):
    home = tmp_path.parent / f"{tmp_path.name}-home"
    folder = (home / place.removeprefix("home/") if scope == "user" else tmp_path / place) / "worker"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("The tests need Java.\n" * 300)
    (folder / "java.md").write_text("Version 21.")
    (folder / "passwd").symlink_to("/etc/passwd")
    define(tmp_path, memory=scope)
    board = make_board(tmp_path, watching, trusted=True, permissions={"allow": ["Agent"]})
    read = use("Read", file_path=str(folder / "java.md"))
    write = use("Write", file_path=str(folder / "new.md"), content="x")
    _, provider = await talk(board, START, of("w", read), of("w", write), of("w", text("w")), turn(text("Done.")))
    (child,) = provider.children
    system = "\n".join(child.requests[0].system)
    assert f"in the folder {folder}." in system
    assert "It has these files: MEMORY.md, java.md\n" in system
    assert system.count("The tests need Java.") == 200
    assert "Version 21." in json.dumps(child.requests[1].messages)
    assert [question.call.name for question in watching.questions] == ["Write"]
    assert not any("memory that outlives" in part for request in provider.requests for part in request.system)


async def test_a_deny_rule_withholds_the_memory_from_the_prompt(tmp_path, watching):
    folder = tmp_path / ".claude/agent-memory/worker"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("The tests need Java.")
    define(tmp_path, memory="project")
    rules = {"allow": ["Agent"], "deny": ["Read(.claude/agent-memory/**)"]}
    board = make_board(tmp_path, watching, trusted=True, permissions=rules)
    _, provider = await talk(board, START, of("w", text("w")), turn(text("Done.")))
    assert "Java" not in "\n".join(provider.children[0].requests[0].system)


async def test_a_memory_that_is_a_link_is_no_memory(tmp_path, watching):
    (tmp_path / ".claude/agent-memory").mkdir(parents=True)
    (tmp_path / ".claude/agent-memory/worker").symlink_to("/etc")
    define(tmp_path, memory="project")
    board = make_board(tmp_path, watching, trusted=True, permissions={"allow": ["Agent"]})
    _, provider = await talk(board, START, of("w", text("w")), turn(text("Done.")))
    assert "/etc" not in "\n".join(provider.children[0].requests[0].system)


MODELS = {"parent-model": {"supports": {"effort": True}}, "big": {"aliases": ["opus"], "supports": {"effort": True}}}


@pytest.mark.parametrize("way", ["the model", "the person", "untrusted"])
async def test_a_skill_chooses_model_and_effort_for_its_turn(tmp_path, watching, way):
    skill(tmp_path, model="opus", effort="high")
    board = make_board(tmp_path, watching, trusted=way != "untrusted", models=MODELS)
    turns = [turn(text("One.")), turn(text("Two."))]
    if way != "the person":
        turns.insert(0, turn(use("Skill", skill="care")))
    provider = ReplayProvider(turns)
    async with Session(board, provider, model="parent-model") as session:
        made = await answer_slash_command(session, "care", "") if way == "the person" else None
        await session.run(made.text if made else "Go")
        await session.run("And now?")
    asked = [(request.model, request.wanted.effort) for request in provider.requests]
    before, inside = ("parent-model", None), ("parent-model", None) if way == "untrusted" else ("big", "high")
    assert asked == ([before, inside, before] if way != "the person" else [inside, before])


async def test_a_model_that_is_not_there_is_not_used(tmp_path, watching):
    skill(tmp_path, model="sonnet")
    board = make_board(tmp_path, watching, trusted=True)
    _, provider = await talk(board, turn(use("Skill", skill="care")), turn(text("Done.")))
    assert {request.model for request in provider.requests} == {"parent-model"}


@pytest.mark.parametrize("trusted", [True, False])
async def test_hooks_of_a_skill_run_once_it_is_used(tmp_path, watching, trusted):
    files(tmp_path)
    guard = hook('cat "${CLAUDE_SKILL_DIR}/why" >&2; exit 2', matcher="Read")
    skill(tmp_path, hooks={"PreToolUse": guard})
    (tmp_path / ".claude/skills/care/why").write_text("Care first.")
    board = make_board(tmp_path, watching, trusted=trusted)
    turns = [
        turn(READ),
        turn(use("Skill", skill="care")),
        turn(AGAIN),
        turn(text("One.")),
        turn(use("Read", file_path="c.txt")),
        turn(text("Two.")),
    ]
    session, _ = await talk(board, *turns, prompts=("Go", "Again"))
    said = [results_of(session, at)[0] for at in (2, 6, 10)]
    assert [("The content." in one, "Care first." in one) for one in said] == [
        (True, False),
        *([(not trusted, trusted)] * 2),
    ]
    assert [question.call.name for question in watching.questions] == (["Skill"] if trusted else [])


async def test_a_hook_of_a_skill_may_run_once_only(tmp_path, watching):
    log = tmp_path.parent / f"{tmp_path.name}.log"
    skill(tmp_path, hooks={"PostToolUse": hook(f"echo ran >> {log}", more={"once": True})})
    files(tmp_path)
    board = make_board(tmp_path, watching, trusted=True)
    await talk(board, turn(use("Skill", skill="care")), turn(READ), turn(READ), turn(text("Done.")))
    assert log.read_text() == "ran\n"
