"""Events that plugins announce reach the hooks of a user, with what the protocol says about each, and can be answered.

Everything installed takes part: real boards, real processes, real git, a real server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import Allow, PegboardError, hookimpl
from pegboard_session import EventAnswer, ReplayProvider, Session, answer_slash_command

from .agents import _at_home, agent, make_board, of, play, results_of, text, turn, use, watching

__all__ = ["_at_home", "watching"]


@pytest.fixture
def anyio_backend():
    return "asyncio"  # What announces and what hears is the same on any loop; the seam itself is tested on both.


SERVER = Path(__file__).parent / "asking_server.py"


class Log:
    """A file to which handlers append what they read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def hook(self, then: str = "", **group: str) -> list[dict]:
        command = f"cat >> {self.path}; echo >> {self.path}; {then}"
        return [{**group, "hooks": [{"type": "command", "command": command}]}]

    def read(self) -> list[dict]:
        return [json.loads(line) for line in self.path.read_text().splitlines() if line.strip()]


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path.parent / f"{tmp_path.name}.log")


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("a\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@pytest.mark.parametrize("refused", ["", "Created", "Completed"])
async def test_tasks_are_announced_and_can_be_refused(tmp_path, watching, log, refused):
    no = "echo Not now. >&2; exit 2"
    hooks = {f"Task{what}": log.hook(no if what == refused else "") for what in ("Created", "Completed")}
    board = make_board(tmp_path, watching, hooks=hooks)
    turns = [turn(use("TaskCreate", subject="Test it", description="All of it.")), turn(use("TaskList"))]
    if refused != "Created":
        turns[1:1] = [turn(use("TaskUpdate", taskId="1", status="completed"))]
    _, session = await play(board, *turns, turn(text("Done.")))
    first = log.read()[0]
    about = {"task_id": "1", "task_subject": "Test it", "task_description": "All of it."}
    assert about.items() <= first.items()
    assert [read["hook_event_name"] for read in log.read()] == ["TaskCreated", "TaskCompleted"][: len(turns) - 1]
    shown = results_of(session, 2 * len(turns))[0]
    assert ("There are no tasks" in shown) is (refused == "Created")
    assert ("[x]" in shown) is (refused == "")
    if refused:
        said = {"Created": "The task was not created. Not now.", "Completed": "Task 1 was not completed. Not now."}
        assert said[refused] in json.dumps(session.messages)


async def test_memory_files_are_announced_with_the_reason(tmp_path, watching, log):
    (tmp_path / ".git").mkdir()
    (tmp_path / "CLAUDE.md").write_text("Be brief. @more.md")
    (tmp_path / "more.md").write_text("Be kind.")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/CLAUDE.md").write_text("Here too.")
    (tmp_path / "src/a.py").write_text("x = 1")
    (tmp_path / ".claude/rules").mkdir(parents=True)
    (tmp_path / ".claude/rules/python.md").write_text("---\npaths: src/**/*.py\n---\nNo tabs.")
    board = make_board(tmp_path, watching, hooks={"InstructionsLoaded": log.hook()})
    await play(board, turn(use("Read", file_path="src/a.py")), turn(text("Done.")))
    found = {Path(read["file_path"]).relative_to(tmp_path).as_posix(): read for read in log.read()}
    why = {name: (read["load_reason"], read["memory_type"]) for name, read in found.items()}
    assert why == {
        "CLAUDE.md": ("session_start", "Project"),
        "more.md": ("include", "Project"),
        "src/CLAUDE.md": ("nested_traversal", "Project"),
        ".claude/rules/python.md": ("path_glob_match", "Project"),
    }
    assert found["more.md"]["parent_file_path"] == str(tmp_path / "CLAUDE.md")
    assert found[".claude/rules/python.md"]["globs"] == ["src/**/*.py"]
    assert found["src/CLAUDE.md"]["trigger_file_path"] == str(tmp_path / "src/a.py")


async def test_a_matcher_chooses_among_the_reasons(tmp_path, watching, log):
    (tmp_path / "CLAUDE.md").write_text("Be brief. @more.md")
    (tmp_path / "more.md").write_text("Be kind.")
    board = make_board(tmp_path, watching, hooks={"InstructionsLoaded": log.hook(matcher="include")})
    await play(board, turn(text("Done.")))
    assert [Path(read["file_path"]).name for read in log.read()] == ["more.md"]


@pytest.mark.parametrize("answer", ["", "echo Mind the gap.", "echo Not today. >&2; exit 2"])
async def test_a_command_that_becomes_a_prompt_is_announced_before_it_does_anything(tmp_path, watching, log, answer):
    file = tmp_path / ".claude/commands/ship.md"
    file.parent.mkdir(parents=True)
    file.write_text("Ship $ARGUMENTS. !`touch ran`")
    hooks = {"UserPromptExpansion": log.hook(answer, matcher="ship")}
    board = make_board(tmp_path, watching, hooks=hooks, trusted=True, permissions={"allow": ["Bash(touch ran)"]})
    async with Session(board, ReplayProvider([])) as session:
        if "Not" in answer:
            with pytest.raises(PegboardError, match=r"/ship was not run\. Not today\."):
                await answer_slash_command(session, "ship", "it now")
        else:
            made = await answer_slash_command(session, "ship", "it now")
            assert made.text.startswith("/ship it now\n\nShip it now.")
            assert made.text.endswith("Mind the gap.") is bool(answer)
    assert (tmp_path / "ran").exists() is ("Not" not in answer)
    (read,) = log.read()
    assert (read["expansion_type"], read["command_name"]) == ("slash_command", "ship")
    assert (read["command_args"], read["command_source"], read["prompt"]) == ("it now", "project", "/ship it now")


async def test_a_skill_that_comes_or_changes_is_announced(tmp_path, watching, log):
    def put(name: str, description: str) -> Path:
        file = tmp_path / f".claude/skills/{name}/SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.")
        return file

    put("first", "The first.")
    board = make_board(tmp_path, watching, hooks={"ConfigChange": log.hook(matcher="skills")})
    async with Session(board, ReplayProvider([turn(text("One.")), turn(text("Two."))])) as session:
        await session.run("Go")
        assert log.read() == []
        second = put("second", "Another.")
        await session.run("And now?")
    assert [(read["source"], read["file_path"]) for read in log.read()] == [("skills", str(second))]


HOOKED = "n=$(grep . {log} | tail -n 1 | jq -r .name); mkdir -p {made}/$n; echo making >&2; echo {made}/$n"


async def test_a_hook_makes_the_worktree_in_the_place_of_git(tmp_path, watching, log):
    made = tmp_path.parent / f"{tmp_path.name}-made"
    gone = f'rm -r "$(grep . {log.path} | tail -n 1 | jq -r .worktree_path)"'
    hooks = {"WorktreeCreate": log.hook(HOOKED.format(log=log.path, made=made)), "WorktreeRemove": log.hook(gone)}
    board = make_board(tmp_path, watching, hooks=hooks)
    leave = use("ExitWorktree", action="remove")
    sure = use("ExitWorktree", action="remove", discard_changes=True)
    _, session = await play(
        board, turn(use("EnterWorktree", name="idea")), turn(leave), turn(sure), turn(text("Done."))
    )
    entered, kept, left = (results_of(session, at)[0] for at in (2, 4, 6))
    assert entered == f"Created the worktree {made}/idea. It is the working directory now."
    assert "it is not known what would be lost" in kept
    assert left.startswith(f"Removed the worktree {made}/idea.")
    assert not (made / "idea").exists()
    create, remove = log.read()
    assert (create["hook_event_name"], create["name"]) == ("WorktreeCreate", "idea")
    assert (remove["hook_event_name"], remove["worktree_path"]) == ("WorktreeRemove", f"{made}/idea")


@pytest.mark.parametrize("then", ["exit 1", "true", "echo /nowhere/at/all", "echo Stop. >&2; exit 2"])
async def test_a_hook_that_makes_no_worktree_fails_it(repository, watching, log, then):
    board = make_board(repository, watching, hooks={"WorktreeCreate": log.hook(then)})
    _, session = await play(board, turn(use("EnterWorktree", name="idea")), turn(text("Done.")))
    assert "could not be created" in results_of(session)[0]
    assert not (repository / ".pegboard/worktrees").exists()


async def test_the_worktree_of_an_agent_is_announced(repository, watching, log):
    hooks = {"WorktreeRemove": log.hook()}
    board = make_board(repository, watching, hooks=hooks)
    await play(
        board,
        turn(agent(isolation="worktree", name="worker")),
        of("worker", text("Nothing to do.")),
        turn(text("Done.")),
    )
    (read,) = log.read()
    assert Path(read["worktree_path"]).parent == repository / ".pegboard/worktrees"


async def test_an_agent_works_in_the_worktree_of_a_hook(repository, watching, log):
    made = repository.parent / f"{repository.name}-made"
    hooks = {"WorktreeCreate": log.hook(HOOKED.format(log=log.path, made=made))}
    board = make_board(repository, watching, hooks=hooks)
    script = [of("worker", use("Bash", command="pwd > here; pwd")), of("worker", text("Done."))]
    await play(board, turn(agent(isolation="worktree", name="worker")), *script, turn(text("Done.")))
    (name,) = [read["name"] for read in log.read()]
    assert (made / name / "here").read_text() == f"{made / name}\n"


FORM = {"action": "accept", "content": {"colour": "green"}}


def own(event: str, **said: object) -> str:
    return f"echo '{json.dumps({'hookSpecificOutput': {'hookEventName': event, **said}})}'"


@pytest.mark.parametrize(
    ("hooks", "asked", "answer"),
    [
        ({}, 1, "accept {'colour': 'blue'}"),
        ({"Elicitation": own("Elicitation", **FORM)}, 0, "accept {'colour': 'green'}"),
        ({"Elicitation": own("Elicitation", action="cancel")}, 0, "cancel None"),
        ({"Elicitation": "echo No. >&2; exit 2"}, 0, "decline None"),
        ({"Elicitation": own("Elicitation", action="accept", content={"colour": 3})}, 0, "cancel None"),
        ({"ElicitationResult": own("ElicitationResult", **FORM)}, 1, "accept {'colour': 'green'}"),
        ({"ElicitationResult": "echo No. >&2; exit 2"}, 1, "decline None"),
    ],
)
async def test_hooks_hear_what_a_server_asks_and_answer_it(tmp_path, watching, log, hooks, asked, answer):
    heard = {name: log.hook(then, matcher="asker") for name, then in hooks.items()}
    servers = {"asker": {"command": sys.executable, "args": [str(SERVER)]}}
    rules = {"allow": ["mcp__asker"]}
    board = make_board(tmp_path, watching, hooks=heard, mcpServers=servers, permissions=rules, mcp={"startWait": 120})
    watching.answer = Allow("yes")
    async with Session(board, ReplayProvider([turn(use("mcp__asker__ask")), turn(text("Done."))])) as session:
        await session.run("Go")
    assert results_of(session) == [answer]
    assert len(watching.questions) == asked
    for read in log.read():
        assert (read["mcp_server_name"], read["mode"]) == ("asker", "form")
        if read["hook_event_name"] == "Elicitation":
            assert read["message"] == "Which colour?"
            assert read["requested_schema"]["properties"]["colour"]["type"] == "string"
        else:
            assert (read["action"], read["content"]) == ("accept", {"colour": "blue"})


async def test_a_plugin_hears_events_without_knowing_who_announces_them(tmp_path, watching):
    class Strict:
        @hookimpl
        def hear_event(self, event, about):
            return EventAnswer(block="Only on Mondays.") if event == "TaskCreated" else None

    class Broken:
        @hookimpl
        async def hear_event(self, event):
            raise ValueError(event)

    for plugin, said in ((Strict(), "Only on Mondays."), (Broken(), "A hear_event hook failed: ValueError.")):
        board = make_board(tmp_path, watching, plugins=[plugin])
        _, session = await play(board, turn(use("TaskCreate", subject="Go")), turn(text("Done.")))
        assert results_of(session) == [f"The task was not created. {said}"]
