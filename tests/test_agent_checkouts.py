"""Checkouts of agents in repositories of every shape, nested and resumed ones, and work that git does not show."""

from pathlib import Path

import anyio
import pytest

from pegboard_session import ReplayProvider, Session, Transcript, restore

from .agents import agent, make_board, of, play, results_of, said_by, text, turn, use
from .test_agent_worktrees import _at_home, branches, git, repository, watching, worktrees

__all__ = ["_at_home", "repository", "watching"]


async def isolated(board, *commands, name="w"):
    """Let an isolated agent run commands; what the parent read of it."""
    script = [turn(agent(name=name, isolation="worktree")), turn(text("Done."))]
    script += [of(name, use("Bash", command=command)) for command in commands]
    with anyio.fail_after(60):
        _, session = await play(board, *script, of(name, text("report")))
    return results_of(session)[0]


@pytest.mark.parametrize(
    ("case", "command"),
    [
        ("untracked in a folder", "mkdir -p a/b && echo mine > a/b/c.txt"),
        ("staged and gone from the tree", "echo mine > new.txt && git add new.txt && rm new.txt"),
        ("deleted", "rm app.txt"),
        ("mode", "chmod +x app.txt"),
        ("commit on the branch", "echo mine > x && git add x && git commit -qm x"),
        ("commit, then back", "git commit -q --allow-empty -m x && git checkout -q --detach main"),
        (
            "commit without a branch",
            "git checkout -q --detach && git commit -q --allow-empty -m x && git checkout -q -",
        ),
        ("assumed unchanged", "git update-index --assume-unchanged app.txt && echo mine > app.txt"),
        ("skipped", "git update-index --skip-worktree app.txt && echo mine > app.txt"),
        ("a repository inside", "git init -q inner && echo mine > inner/x"),
        ("another branch", "git checkout -q -b other"),
    ],
)
async def test_whatever_an_agent_did_is_kept_and_named(repository, watching, case, command):
    said = await isolated(make_board(repository, watching), command)
    if case == "another branch":  # Nothing was done on it; it stays without its checkout.
        assert worktrees(repository) == []
        assert git(repository, "rev-parse", "other") == git(repository, "rev-parse", "main")
        return
    [place] = worktrees(repository)
    assert f"its changes are in {place} on the branch pegboard/" in said
    assert git(repository, "status", "--porcelain") == ""
    assert (repository / "app.txt").read_text() == "original\n"


@pytest.mark.parametrize("shape", ["detached", "subfolder", "worktree", "dirty"])
async def test_an_agent_that_changes_nothing_leaves_nothing_in_any_repository(repository, watching, shape, tmp_path):
    folder = repository
    if shape == "detached":
        git(repository, "checkout", "-q", "--detach")
    elif shape == "subfolder":
        folder = repository / "sub"
        folder.mkdir()
    elif shape == "worktree":
        folder = tmp_path / "linked"
        git(repository, "worktree", "add", "-q", "-b", "linked", str(folder))
    else:
        (repository / "app.txt").write_text("not committed\n")
        (repository / "untracked.txt").write_text("mine")
    before = worktrees(repository)
    said = await isolated(make_board(folder, watching), "cat app.txt; ls")
    assert said.startswith("report")
    assert "branch" not in said
    assert "original" in said_by(watching)[0], "it starts from what is committed"
    assert worktrees(repository) == before
    assert branches(repository) == []


async def test_a_bare_repository_has_worktrees_too(repository, watching, tmp_path):
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    said = await isolated(make_board(bare, watching), "cat app.txt")
    assert "original" in said_by(watching)[0]
    assert "branch" not in said
    assert branches(bare) == []


async def test_submodules_are_left_empty_and_do_not_keep_a_worktree(repository, watching, tmp_path):
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repository), str(other))
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "module")
    git(repository, "commit", "-qm", "module")
    said = await isolated(make_board(repository, watching), "ls module | wc -l")
    assert said_by(watching)[0].strip() == "0"
    assert "branch" not in said
    assert worktrees(repository) == []


async def test_work_in_a_submodule_that_hides_its_changes_is_kept(repository, watching, tmp_path):
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(repository), str(other))
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "module")
    git(repository, "config", "-f", ".gitmodules", "submodule.module.ignore", "all")
    git(repository, "add", ".gitmodules")
    git(repository, "commit", "-qm", "module")
    fill = "git -c protocol.file.allow=always submodule update -q --init && echo mine > module/app.txt"
    said = await isolated(make_board(repository, watching), fill)
    [place] = worktrees(repository)
    assert place in said
    assert Path(place, "module/app.txt").read_text() == "mine\n"


async def test_an_isolated_agent_of_an_isolated_agent_stands_beside_it(repository, watching):
    board = make_board(repository, watching)
    script = [turn(agent(name="outer", isolation="worktree")), turn(text("Done."))]
    script += [of("outer", agent(name="inner", isolation="worktree")), of("outer", text("1"))]
    script += [of("inner", use("Bash", command="pwd")), of("inner", text("2"))]
    _, session = await play(board, *script)
    assert said_by(watching)[0].startswith(f"{repository}/.pegboard/worktrees/inner-")
    assert "branch" not in results_of(session)[0]
    assert worktrees(repository) == branches(repository) == []


async def test_a_resumed_agent_works_in_its_worktree_again(repository, watching):
    """The first run changed nothing, so its checkout went; the second finds one at the same path."""
    board = make_board(repository, watching)
    resume = use("Agent", description="more", prompt="Go on.", resume="w")
    script = [turn(agent(name="w", isolation="worktree")), turn(resume), turn(resume), turn(text("Done."))]
    for command in ("pwd", "pwd; echo mine > new.txt", "pwd; cat new.txt"):
        script += [of("w", use("Bash", command=command)), of("w", text("report"))]
    _, session = await play(board, *script)
    first, second, third = (words.splitlines() for words in said_by(watching))
    assert first[0] == second[0] == third[0]
    assert third[1] == "mine"
    assert "branch" not in results_of(session)[0]
    for message in (4, 6):
        assert f"its changes are in {first[0]} on the branch pegboard/w-" in results_of(session, message)[0]
    assert worktrees(repository) == [first[0]]


@pytest.mark.parametrize("gone", [False, True])
async def test_another_process_finds_the_worktree_and_its_rules(repository, watching, tmp_path, gone):
    path = tmp_path / "state" / "s.jsonl"
    deny = {"permissions": {"deny": ["Edit(/app.txt)"]}}
    first = [turn(agent(name="w", isolation="worktree")), turn(text("Done."))]
    first += [of("w", use("Bash", command="true" if gone else "echo mine > new.txt")), of("w", text("1"))]
    resume = use("Agent", description="more", prompt="Go on.", resume="w")
    second = [turn(resume), turn(text("Done.")), of("w", use("Write", file_path="app.txt", content="x"))]
    second += [of("w", use("Bash", command="pwd; ls")), of("w", text("2"))]
    for script in (first, second):
        board = make_board(repository, watching, **deny)
        session = Session(board, ReplayProvider(script), transcript=Transcript(path), session_id="s")
        if script is second:
            session.resume(restore(path), board.context(mode="acceptEdits"))
        async with session:
            await session.run("Go")
    denied, listed = (data["said"] for data in watching.of("call_finished")[-3:-1])
    assert "was denied by the rule Edit(/app.txt)" in denied
    assert listed.startswith(f"{repository}/.pegboard/worktrees/w-")
    assert ("new.txt" in listed) is not gone
    assert len(worktrees(repository)) == (not gone)


async def test_a_link_that_ignores_elsewhere_is_not_written_through(repository, watching, tmp_path):
    (repository / ".pegboard/worktrees").mkdir(parents=True)
    (repository / ".pegboard/worktrees/.gitignore").symlink_to(tmp_path / "made")
    await isolated(make_board(repository, watching), "true")
    assert not (tmp_path / "made").exists()


async def test_a_lock_that_is_a_link_is_an_error(repository, watching, tmp_path):
    (repository / ".pegboard/worktrees").mkdir(parents=True)
    (repository / ".pegboard/worktrees/.lock").symlink_to(tmp_path / "made")
    said = await isolated(make_board(repository, watching), "true")
    assert said.startswith("A worktree could not be created: ")
    assert not (tmp_path / "made").exists()
