"""Worktrees of real repositories, entered and left by real sessions: nothing is ever lost by mistake."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pegboard import Board, Call, Change, Deny
from pegboard.settings import load
from pegboard_session import ReplayProvider, Session, Transcript, restore

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **WHO}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: what differs between the two is tested with the processes."""
    return "asyncio"


class Host:
    """A session whose calls are made by hand, one after another; changes of context are applied as in a turn."""

    def __init__(self, session: Session) -> None:
        self.session = session

    async def use(self, tool: str, /, **given: Any) -> Any:
        result = await self.session.board.dispatch(Call("1", tool, given), self.session.ctx)
        self.session.ctx = self.session.ctx.after(result.change)
        return result

    @property
    def cwd(self) -> Path:
        return self.session.ctx.cwd


@pytest.fixture
async def host(board: Board, project: Path, approve: None):
    async with Session(board, ReplayProvider([]), model="m") as session:
        yield Host(session)


async def test_a_session_enters_a_new_worktree_works_there_and_comes_back(host, project):
    entered = await host.use("EnterWorktree", name="fix")
    place = project / ".pegboard/worktrees/fix"
    assert entered.text == f"Created the worktree {place} on pegboard/fix. It is the working directory now."
    assert host.cwd == place
    assert not (await host.use("Write", file_path="b.txt", content="new\n")).is_error
    assert (place / "b.txt").exists()
    left = await host.use("ExitWorktree", action="keep")
    assert (host.cwd, left.value.worktree_branch) == (project, "pegboard/fix")
    assert (place / "b.txt").read_text() == "new\n"
    again = await host.use("EnterWorktree", name="fix")
    assert (again.value.is_new, host.cwd) == (False, place)


async def test_a_worktree_without_changes_is_removed_with_its_branch(host, project):
    await host.use("EnterWorktree", name="empty")
    removed = await host.use("ExitWorktree", action="remove")
    assert "Removed the worktree" in removed.text
    assert not (project / ".pegboard/worktrees/empty").exists()
    assert git(project, "branch", "--list", "pegboard/*") == ""
    assert host.cwd == project


@pytest.mark.parametrize(
    "work", ["untracked", "ignored", "changed", "staged", "committed", "detached", "hidden", "skipped", "left"]
)
async def test_work_is_never_removed_by_mistake(host, project, work):
    await host.use("EnterWorktree", name="work")
    place = host.cwd
    if work == "ignored":
        (project / ".git/info/exclude").write_text("b.txt\n")
    (place / ("b.txt" if work in ("untracked", "ignored") else "a.txt")).write_text("two\n")
    if work == "left":
        git(place, "checkout", "-q", "--detach")
    if work in ("staged", "committed", "detached", "left"):
        git(place, "add", ".")
    if work in ("committed", "detached", "left"):
        git(place, "commit", "-q", "-m", "second")
    if work == "detached":
        git(place, "checkout", "-q", "--detach", "main")
    if work == "left":
        git(place, "checkout", "-q", "pegboard/work")
    if work in ("hidden", "skipped"):
        git(place, "update-index", "--assume-unchanged" if work == "hidden" else "--skip-worktree", "a.txt")
    refused = await host.use("ExitWorktree", action="remove")
    what = "1 commit on no other branch" if work in ("committed", "detached", "left") else "1 changed file"
    assert f"has {what}. Nothing was removed." in refused.text
    assert host.cwd == place
    assert place.is_dir()
    gone = await host.use("ExitWorktree", action="remove", discard_changes=True)
    assert f"Discarded: {what.removesuffix(' on no other branch')}." in gone.text
    assert not place.exists()


async def test_ignored_folders_can_be_made_again_so_the_worktree_may_go(host, project):
    (project / ".git/info/exclude").write_text("build/\n*.pyc\n")
    await host.use("EnterWorktree", name="built")
    (host.cwd / "build").mkdir()
    for name in ("build/out.txt", "a.pyc"):
        (host.cwd / name).write_text("made")
    assert "Removed the worktree" in (await host.use("ExitWorktree", action="remove")).text


async def test_merged_commits_are_not_lost_so_the_worktree_may_go(host, project):
    await host.use("EnterWorktree", name="merged")
    (host.cwd / "a.txt").write_text("two\n")
    git(host.cwd, "commit", "-q", "-am", "second")
    git(project, "merge", "-q", "pegboard/merged")
    assert "Removed the worktree" in (await host.use("ExitWorktree", action="remove")).text
    assert (project / "a.txt").read_text() == "two\n"


async def test_discarding_always_asks(host, answers):
    await host.use("EnterWorktree", name="work")
    (host.cwd / "b.txt").write_text("precious\n")
    answers.decision = Deny("No.", layer="ask")
    denied = await host.use("ExitWorktree", action="remove", discard_changes=True)
    assert (denied.code, (host.cwd / "b.txt").exists()) == ("permission_denied", True)


async def test_ten_worktrees_with_uncommitted_work_lose_nothing(host, project):
    for number in range(10):
        await host.use("EnterWorktree", name=f"w{number}")
        (host.cwd / "a.txt").write_text(f"work {number}\n")
        await host.use("ExitWorktree", action="keep" if number % 2 else "remove")
        if host.cwd != project:
            await host.use("ExitWorktree", action="keep")
    folder = project / ".pegboard/worktrees"
    assert [(folder / f"w{number}/a.txt").read_text() for number in range(10)] == [f"work {n}\n" for n in range(10)]
    assert (project / "a.txt").read_text() == "one\n"
    assert git(project, "status", "--porcelain") == ""


async def test_a_worktree_elsewhere_is_entered_by_its_path(host, project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("other") / "tree"
    git(project, "worktree", "add", "-q", "-b", "side", str(elsewhere))
    entered = await host.use("EnterWorktree", path=str(elsewhere))
    assert (host.cwd, entered.value.worktree_branch) == (elsewhere, "side")
    assert "Removed the worktree" in (await host.use("ExitWorktree", action="remove")).text
    assert git(project, "branch", "--list", "side") != "", "only our own branches go"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "a", "path": "b"}, "give either name or path, not both."),
        ({"name": "../up"}, "name may contain only letters"),
        ({"name": "a..b"}, "name may contain only letters"),
        ({"name": "x.lock"}, "cannot be the name of a branch"),
        ({"path": "/nowhere"}, "/nowhere is not a worktree of this repository. Its worktrees: none."),
        ({"path": "."}, "is not a worktree of this repository"),
    ],
)
async def test_bad_input_gets_a_clear_error_and_nothing_changes(host, project, given, words):
    result = await host.use("EnterWorktree", **given)
    assert result.is_error
    assert words in result.text
    assert host.cwd == project


async def test_a_session_is_in_one_worktree_at_most(host):
    assert "is not in a worktree" in (await host.use("ExitWorktree", action="keep")).text
    await host.use("EnterWorktree", name="one")
    assert "already in the worktree" in (await host.use("EnterWorktree", name="two")).text


async def test_without_a_repository_there_is_no_worktree(board, tmp_path, approve):
    async with Session(board, ReplayProvider([]), model="m") as session:
        result = await Host(session).use("EnterWorktree", name="a")
    assert (result.code, "needs a git repository" in result.text) == ("unsupported", True)


async def test_a_resumed_session_can_leave_the_worktree_that_it_entered_before(board, project, approve):
    path = project.parent / f"{project.name}-s.jsonl"
    call = {"type": "tool_use", "name": "EnterWorktree", "input": {"name": "later"}}
    turns = [{"content": [call]}, {"content": [{"type": "text", "text": "There."}]}]
    async with Session(board, ReplayProvider(turns), model="m", transcript=Transcript(path)) as first:
        await first.run("Go")
    restored = restore(path)
    second = Session(board, ReplayProvider([]), model="m", transcript=Transcript(path))
    second.resume(restored, second.ctx.after(restored.change()))
    async with second:
        host = Host(second)
        assert host.cwd == project / ".pegboard/worktrees/later"
        await host.use("ExitWorktree", action="remove")
        assert host.cwd == project


@pytest.mark.parametrize(
    "row", [{"path": "."}, {"path": 5}, {"path": "a\0", "came_from": "."}, {"path": ".", "came_from": []}]
)
async def test_a_line_that_makes_no_sense_is_no_stay(board, project, approve, row):
    path = project.parent / f"{project.name}-s.jsonl"
    turns = [{"content": [{"type": "text", "text": "There."}]}]
    async with Session(board, ReplayProvider(turns), model="m", transcript=Transcript(path)) as first:
        await first.run("Go")
    with path.open("a") as file:
        file.write(json.dumps({"type": "worktree", **row}) + "\n")
    second = Session(board, ReplayProvider([]), model="m", transcript=Transcript(path))
    second.resume(restore(path), second.ctx)
    async with second:
        assert "is not in a worktree" in (await Host(second).use("ExitWorktree", action="keep")).text


def test_sub_agents_do_not_get_the_tools(board):
    assert {name for name in ("EnterWorktree", "ExitWorktree") if board.find(name).tool.subagents} == set()


async def test_rules_and_working_directories_follow_into_the_worktree(board, project, answers, approve):
    (project / ".pegboard").mkdir()
    (project / ".pegboard/settings.json").write_text('{"permissions": {"deny": ["Read(secret.txt)", "Edit(/a.txt)"]}}')
    env = {"HOME": str(project / "home"), "PATH": os.environ["PATH"]}
    judging = Board.load(settings=load(project, env, managed=str(project / "m")), env=env, plugins=[answers])
    async with Session(judging, ReplayProvider([]), model="m") as session:
        host = Host(session)
        await host.use("EnterWorktree", name="fix")
        (host.cwd / "secret.txt").write_text("x\n")
        answers.decision = None
        assert not (await host.use("Read", file_path="a.txt")).is_error, "the worktree is a working directory"
        assert (await host.use("Read", file_path="secret.txt")).code == "permission_denied"
        assert not (await host.use("Read", file_path=str(project / "a.txt"))).is_error, "so is where it came from"
        assert (await host.use("Write", file_path="b.txt", content="x")).code == "permission_denied", "no one approved"
        session.ctx = session.ctx.after(Change(mode="acceptEdits"))
        assert not (await host.use("Write", file_path="b.txt", content="x")).is_error
