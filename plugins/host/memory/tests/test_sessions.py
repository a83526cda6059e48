"""Memory files in real sessions: before the first prompt, when they change, when files are read, after a restart."""

from dataclasses import replace

import pytest

import pegboard_memory
from pegboard import Board, PegboardError, Settings
from pegboard_memory.memory import INTRODUCTION
from pegboard_memory.workspace import Workspace
from pegboard_session import AgentDefinition, ReplayProvider, Session, Transcript, restore


@pytest.fixture
def repo(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "repo/.git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "repo"


def board_of(repo, **settings):
    return Board.load(cwd=repo, settings={"only": ["files", "support", "host", "policy"], **settings})


def says(*words):
    return [{"content": [{"type": "text", "text": word}]} for word in words]


def reads(*paths):
    calls = [{"type": "tool_use", "name": "Read", "input": {"file_path": str(path)}} for path in paths]
    return {"content": calls}


def reminders(message):
    texts = [block["text"] for block in message["content"] if block["type"] == "text"]
    tag = "<system-reminder>\n"
    return [text.removeprefix(tag).removesuffix("\n</system-reminder>") for text in texts if text.startswith(tag)]


async def test_files_stand_before_the_first_prompt_with_their_origin(repo):
    (repo / "CLAUDE.md").write_text("Use tabs.")
    (repo / "CLAUDE.local.md").write_text("Mine.")
    async with Session(board_of(repo), ReplayProvider(says("Hi", "Ho"))) as session:
        await session.run("Go")
        await session.run("On")
    assert reminders(session.messages[0]) == [
        INTRODUCTION,
        f"Instructions in {repo}/CLAUDE.md (the project's):\n\nUse tabs.",
        f"Instructions in {repo}/CLAUDE.local.md (the user's own, for this project):\n\nMine.",
    ]
    assert session.messages[0]["content"][-1] == {"type": "text", "text": "Go"}
    assert reminders(session.messages[2]) == []


async def test_without_files_nothing_is_said(repo):
    async with Session(board_of(repo), ReplayProvider(says("Hi"))) as session:
        await session.run("Go")
    assert session.messages[0]["content"] == [{"type": "text", "text": "Go"}]


async def test_changes_are_noticed_on_the_next_prompt(repo):
    (repo / "CLAUDE.md").write_text("One.")
    async with Session(board_of(repo), ReplayProvider(says(*"abcd"))) as session:
        await session.run("1")
        (repo / "CLAUDE.md").write_text("Two.")
        (repo / "AGENTS.md").write_text("New.")
        await session.run("2")
        (repo / "AGENTS.md").unlink()
        await session.run("3")
        await session.run("4")
    assert reminders(session.messages[2]) == [
        f"Instructions in {repo}/AGENTS.md (the project's):\n\nNew.",
        f"{repo}/CLAUDE.md (the project's) has changed. It now says:\n\nTwo.",
    ]
    assert reminders(session.messages[4]) == [f"These instruction files no longer apply: {repo}/AGENTS.md"]
    assert reminders(session.messages[6]) == []


async def test_files_of_a_folder_and_its_rules_come_with_the_results_once(repo):
    (repo / "sub/.claude/rules").mkdir(parents=True)
    (repo / "sub/CLAUDE.md").write_text("Sub.")
    (repo / "sub/.claude/rules/py.md").write_text("---\npaths: ['*.py']\n---\nPython.")
    for name in ("a.txt", "b.txt", "c.py"):
        (repo / "sub" / name).write_text("x")
    turns = [reads(repo / "sub/a.txt"), reads(repo / "sub/b.txt"), reads(repo / "sub/c.py"), *says("Done.")]
    async with Session(board_of(repo), ReplayProvider(turns)) as session:
        await session.run("Go")
    assert reminders(session.messages[2])[1:] == [f"Instructions in {repo}/sub/CLAUDE.md (the project's):\n\nSub."]
    assert reminders(session.messages[4]) == []
    assert reminders(session.messages[6]) == [f"Instructions in {repo}/sub/.claude/rules/py.md (a rule):\n\nPython."]


async def test_a_resumed_session_is_told_only_what_is_new(repo, tmp_path):
    (repo / "CLAUDE.md").write_text("One.")
    (repo / "sub").mkdir()
    (repo / "sub/AGENTS.md").write_text("Sub.")
    (repo / "sub/a.txt").write_text("x")
    path = tmp_path / "t.jsonl"
    turns = [reads(repo / "sub/a.txt"), *says("Hi")]
    async with Session(board_of(repo), ReplayProvider(turns), transcript=Transcript(path)) as session:
        await session.run("1")
    (repo / "sub/AGENTS.md").write_text("Sub, changed.")
    later = Session(board_of(repo), ReplayProvider(says("Ho")), transcript=Transcript(path))
    later.resume(restore(path), later.ctx)
    async with later:
        await later.run("2")
    assert reminders(later.messages[-2]) == [
        f"{repo}/sub/AGENTS.md (the project's) has changed. It now says:\n\nSub, changed."
    ]


async def test_rules_that_deny_reading_withhold_imports(repo):
    (repo / "CLAUDE.md").write_text("See @.env")
    (repo / ".env").write_text("KEY=1")
    board = board_of(repo, permissions={"deny": ["Read(.env)"]})
    async with Session(board, ReplayProvider(says("Hi"))) as session:
        events = session.events()
        await session.run("Go")
    assert "KEY=1" not in str(session.messages)
    notices = [event.data["message"] async for event in events if event.kind == "notice"]
    assert notices == [f"{repo}/.env is not read: a permission rule withholds it."]


@pytest.mark.parametrize("kind", ["deny", "ask"])
async def test_a_rule_that_denies_all_reading_withholds_every_file(repo, kind):
    (repo / "CLAUDE.md").write_text("Use tabs.")
    (repo.parent / "home/.pegboard").mkdir()
    (repo.parent / "home/.pegboard/AGENTS.md").write_text("My own.")
    async with Session(board_of(repo, permissions={kind: ["Read"]}), ReplayProvider(says("Hi"))) as session:
        await session.run("Go")
    assert ("Use tabs." in str(session.messages)) is (kind == "ask"), "asking is about what the model wants to read"
    assert ("My own." in str(session.messages)) is (kind == "ask")


async def test_no_room_means_that_files_are_only_named(repo):
    (repo / "AGENTS.md").write_text("a" * 300)
    (repo / "CLAUDE.md").write_text("b" * 300)
    async with Session(board_of(repo, memory={"totalChars": 400}), ReplayProvider(says("Hi"))) as session:
        await session.run("Go")
    told = reminders(session.messages[0])
    assert "b" * 300 in told[1]
    assert told[2] == f"There was no room for these instruction files. Read them if needed: {repo}/AGENTS.md"


@pytest.mark.parametrize("wanted", [True, False])
async def test_an_agent_gets_them_as_its_definition_says(repo, wanted):
    (repo / "CLAUDE.md").write_text("One.")
    definition = AgentDefinition("scribe", "Writes.", memory_files=wanted)
    async with Session(board_of(repo), ReplayProvider(says("Hi")), definition=definition) as session:
        await session.run("Go")
    assert bool(reminders(session.messages[0])) is wanted


async def test_a_setting_switches_them_off(repo):
    (repo / "CLAUDE.md").write_text("One.")
    async with Session(board_of(repo, memory={"enabled": False}), ReplayProvider(says("Hi"))) as session:
        await session.run("Go")
    assert reminders(session.messages[0]) == []


async def test_what_was_forgotten_is_shown_again(repo):
    (repo / "CLAUDE.md").write_text("One.")
    async with Session(board_of(repo), ReplayProvider(says("Hi", "Ho"))) as session:
        await session.run("Go")
        session.ctx.service("memory").forget()
        await session.run("On")
    assert reminders(session.messages[2]) == reminders(session.messages[0])


async def test_a_line_is_kept_where_a_person_would_look_for_it(repo, tmp_path):
    async with Session(board_of(repo), ReplayProvider(says("Hi"))) as session:
        memory = session.ctx.service("memory")
        assert memory.add("Use  uv.") == repo / "AGENTS.md"
        assert memory.add("- Local.", "local") == repo / "CLAUDE.local.md"
        assert memory.add("Mine.", "user") == tmp_path / "home/.pegboard/AGENTS.md"
        (repo / "AGENTS.md").write_text("No newline")
        memory.add("Second.")
        await session.run("Go")
    assert (repo / "AGENTS.md").read_text() == "No newline\n- Second.\n"
    assert (repo / "CLAUDE.local.md").read_text() == "- Local.\n"
    assert [words.rsplit("\n", 1)[-1] for words in reminders(session.messages[0])[1:]] == [
        *("- Mine.", "- Second.", "- Local.")
    ]


def test_a_memory_that_is_no_line_or_has_no_place_is_refused(repo, tmp_path):
    place = Workspace.of(Settings(cwd=str(repo), root=str(repo)), repo, {})
    with pytest.raises(PegboardError, match="A memory must be a line of 1 to 2000 characters, got"):
        pegboard_memory.add_memory(" \n ", place)
    with pytest.raises(PegboardError, match="'global' is not a place for memories"):
        pegboard_memory.add_memory("x", place, "global")
    with pytest.raises(PegboardError, match="There is no home directory"):
        pegboard_memory.add_memory("x", place, "user")
    (tmp_path / "elsewhere.md").write_text("")
    (repo / "CLAUDE.local.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(PegboardError, match="a link to a file outside the project"):
        pegboard_memory.add_memory("x", replace(place, trusted=True), "local")
