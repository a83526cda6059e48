"""Agents in checkouts of their own, and agents that are cancelled at any moment: nothing is lost, nothing is left."""

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
import sniffio
import trio

from pegboard import Call, Context, tool
from pegboard_agent.subagent_log import read_records
from pegboard_confine import HELPER
from pegboard_hosts import tidy_up
from pegboard_session import ReplayProvider, Session, Transcript, restore

from .agents import NameInput, agent, make_board, of, play, results_of, said_by, text, turn, use, watching

__all__ = ["watching"]

CANCELLATIONS = 200 if os.environ.get("PEGBOARD_TEST_SLOW") else 20
SPARE = 1
"""One descriptor: a confined command of another sort than the last has a place that is kept ready too."""


@pytest.fixture(autouse=True)
def _at_home(monkeypatch, tmp_path):
    home = tmp_path.parent / f"{tmp_path.name}-home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "test@example.com")


def git(folder, *words):
    made = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return made.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Test")
    git(folder, "config", "user.email", "test@example.com")
    (folder / "app.txt").write_text("original\n")
    (folder / ".gitignore").write_text("ignored.txt\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def branches(folder):
    return git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads/pegboard").split()


def worktrees(folder):
    lines = git(folder, "worktree", "list", "--porcelain").splitlines()
    return [line.split(" ", 1)[1] for line in lines if line.startswith("worktree ")][1:]


def locks(folder):
    return list((folder / ".git").rglob("*.lock"))


async def test_ten_children_edit_in_ten_worktrees_at_once(repository, watching):
    board = make_board(repository, watching)
    names = [f"n{number}" for number in range(10)]
    script = [turn(*(agent(name=name, isolation="worktree") for name in names)), turn(text("Done."))]
    for name in names:
        script += [
            of(name, use("Write", file_path=f"{name}.txt", content=f"{name}\n")),
            of(name, use("Bash", command=f"git add -A && git commit -q -m {name}")),
            of(name, text("committed")),
        ]
    with anyio.fail_after(120):
        _, session = await play(board, *script)
    assert len(branches(repository)) == len(worktrees(repository)) == 10
    for name, result in zip(names, results_of(session), strict=True):
        branch = result.split("on the branch ")[1].rstrip(")")
        assert branch.startswith(f"pegboard/{name}-")
        assert git(repository, "show", f"{branch}:{name}.txt") == name
        assert git(repository, "log", "--format=%s", f"main..{branch}") == name
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert sorted(path.name for path in repository.iterdir()) == [".git", ".gitignore", ".pegboard", "app.txt"]
    assert not locks(repository)


async def test_an_unchanged_worktree_is_removed_with_its_branch(repository, watching):
    board = make_board(repository, watching)
    script = [turn(agent(name="r", isolation="worktree")), turn(text("Done."))]
    script += [of("r", use("Read", file_path="app.txt")), of("r", text("read"))]
    _, session = await play(board, *script)
    assert "original" in said_by(watching)[0]
    assert "branch" not in results_of(session)[0]
    assert worktrees(repository) == branches(repository) == []


@pytest.mark.parametrize("name", ["new.txt", "app.txt", "ignored.txt"])
async def test_uncommitted_work_is_never_deleted(repository, watching, name):
    board = make_board(repository, watching)
    script = [turn(agent(name="w", isolation="worktree")), turn(text("Done."))]
    script += [of("w", use("Bash", command=f"echo mine > {name}")), of("w", text("wrote"))]
    _, session = await play(board, *script)
    [place] = worktrees(repository)
    assert place in results_of(session)[0]
    assert Path(place, name).read_text() == "mine\n"
    assert (repository / "app.txt").read_text() == "original\n"


async def test_the_worktree_starts_where_the_setting_says(repository, watching):
    git(repository, "checkout", "-q", "-b", "feature")
    (repository / "feature.txt").write_text("f")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "feature")
    for base, there in (("default-branch", False), ("head", True)):
        board = make_board(repository, watching, agents={"worktreeBase": base})
        script = [turn(agent(name="w", isolation="worktree")), turn(text("Done."))]
        script += [of("w", use("Bash", command="ls; touch x")), of("w", text("ok"))]
        await play(board, *script)
        listing = [words for words in said_by(watching) if "app.txt" in words][-1]
        assert ("feature.txt" in listing) is there


async def test_rules_start_at_the_worktree_and_still_hold_outside(repository, watching):
    board = make_board(repository, watching, permissions={"deny": ["Edit(/app.txt)"]})
    inside, outside = (
        use("Write", file_path="app.txt", content="x"),
        use("Write", file_path=str(repository / "app.txt"), content="x"),
    )
    script = [
        turn(agent(name="w", isolation="worktree")),
        turn(text("Done.")),
        of("w", inside, outside),
        of("w", text("no")),
    ]
    await play(board, *script, ctx=board.context(mode="acceptEdits"))
    assert [data["decision"] for data in watching.of("call_finished") if "agent" in data] == ["deny", "deny"]
    assert (repository / "app.txt").read_text() == "original\n"


async def test_programs_of_a_hostile_repository_do_not_run(repository, watching, tmp_path):
    ran = tmp_path / "ran"
    hook = repository / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {ran}-hook\n")
    hook.chmod(0o755)
    git(repository, "config", "filter.evil.smudge", f"touch {ran}-filter; cat")
    git(repository, "config", "core.fsmonitor", f"touch {ran}-monitor")
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/attributes").write_text("*.txt filter=evil\n")
    board = make_board(repository, watching)
    script = [turn(agent(name="r", isolation="worktree")), turn(text("Done.")), of("r", text("nothing"))]
    _, session = await play(board, *script)
    assert results_of(session)[0].startswith("nothing")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("ran")] == []


async def test_a_worktree_needs_a_repository_with_a_commit(tmp_path, watching):
    board = make_board(tmp_path, watching)
    _, session = await play(board, turn(agent(isolation="worktree")), turn(text("Done.")))
    assert "isolation=worktree needs a git repository" in results_of(session)[0]
    git(tmp_path, "init", "-q")
    _, session = await play(board, turn(agent(isolation="worktree")), turn(text("Done.")))
    assert "at least one commit" in results_of(session)[0]


async def test_a_link_in_place_of_the_folder_is_refused(repository, watching, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (repository / ".pegboard").symlink_to(tmp_path / "elsewhere")
    board = make_board(repository, watching)
    _, session = await play(board, turn(agent(isolation="worktree")), turn(text("Done.")))
    assert "is a symbolic link" in results_of(session)[0]
    assert list((tmp_path / "elsewhere/worktrees").iterdir()) == []


NAP = f"31.{os.getpid()}"
"""Of this process: others run the same test at the same time."""


def naps():
    """The commands of this test that still run anywhere on the machine, whoever their parent is by now."""
    found = subprocess.run(["ps", "-eo", "stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if f"sleep {NAP}" in line and not line.startswith("Z")]


def living_tasks():
    if sniffio.current_async_library() == "asyncio":
        return len(asyncio.all_tasks())
    return trio.lowlevel.current_statistics().tasks_living


async def open_files(most):
    """How many descriptors are open, once threads have closed what they open for a moment, if they do."""
    with anyio.move_on_after(5):
        while len(os.listdir("/proc/self/fd")) > most:
            await anyio.sleep(0.02)
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.timeout(900)
async def test_cancelling_the_parent_at_any_moment_leaves_nothing(repository, watching, tmp_path):
    """Foreground and background agents, nested ones, commands and worktrees, stopped at random moments."""

    @tool(read_only=True, concurrency_safe=True, open_world=False)
    async def Nap(args: NameInput, ctx: Context) -> str:
        """Sleep a little."""
        await anyio.sleep(0.01)
        return ""

    board = make_board(repository, watching, [Nap])
    script = [
        turn(agent(name="tree", isolation="worktree"), agent(name="shell"), agent(name="back", run_in_background=True)),
        turn(text("Done.")),
        of("tree", use("Nap"), use("Nap")),
        of("tree", agent(name="leaf")),
        of("tree", text("t")),
        of("leaf", use("Bash", command=f"sleep {NAP}")),
        of("shell", use("Bash", command=f"sleep {NAP} & sleep {NAP}")),
        of("back", use("Bash", command=f"sleep {NAP}")),
    ]
    chance = random.Random(7)
    for command in ("true", "sleep 0 & sleep 0"):  # The helper that confines, and the place for bash as a printer.
        await board.dispatch(Call("first", "Bash", {"command": command}))
    HELPER.warm()
    await anyio.sleep(0.5)  # A place for the next command like this one is prepared.
    before, files = living_tasks(), len(os.listdir("/proc/self/fd"))
    for number in range(CANCELLATIONS):
        transcript = Transcript(tmp_path / "state" / f"{number}.jsonl")
        with anyio.move_on_after(chance.uniform(0.0, 0.5)):
            async with Session(board, ReplayProvider(script), transcript=transcript) as session:
                await session.run("Go")
        transcript.close()  # For those that were cancelled before they began.
        assert await open_files(files + SPARE) <= files + SPARE, f"files left open after cancellation {number}"
        records, _ = read_records(restore(transcript.path).lines)
        assert {record.state for record in records} <= {"done", "interrupted"}
        assert living_tasks() == before, f"tasks left after cancellation {number}"
        assert not naps(), f"processes left after cancellation {number}"
        assert worktrees(repository) == branches(repository) == [], f"worktrees left after cancellation {number}"
        assert not locks(repository)
    assert git(repository, "status", "--porcelain") == ""
    assert len(watching.of("agent_started")) > CANCELLATIONS


LEFT = """
import os, sys
from pathlib import Path
from pegboard_worktrees import Worktree, note_worktree
folder, *names = sys.argv[1:]
base = os.popen("git rev-parse HEAD").read().strip()
for name in names:
    made = Worktree(Path(folder, name), f"pegboard/{name}", base)
    note_worktree(made)
    os.system(f"git worktree add -q -b {made.branch} {made.path}")
os.kill(os.getpid(), 9)
"""


def test_untouched_worktrees_of_a_killed_host_are_removed_by_the_next(repository):
    folder = repository / ".pegboard" / "worktrees"
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", LEFT, str(folder), "still", "edited"], cwd=repository, check=False)
    (folder / "edited" / "new.txt").write_text("work of an agent\n")
    assert len(worktrees(repository)) == 2
    assert len(tidy_up()) == 1
    assert worktrees(repository) == [str(folder / "edited")]
    assert branches(repository) == ["pegboard/edited"]
    assert (folder / "edited" / "new.txt").read_text() == "work of an agent\n"
