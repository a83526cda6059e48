"""What git can do in the sandbox, and what it cannot be made to do."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from pegboard_sandbox import repository

COMMIT = "git -c user.name=a -c user.email=a@example.invalid commit -q"
ENV = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
EVIL = "[core]\n\tfsmonitor = touch /tmp/pegboard-was-here\n"


def git(folder: Path, *words: str) -> str:
    """Git as the user runs it, outside the sandbox."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, env=ENV, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def main(box):
    """A repository with one commit."""
    git(box.root, "init", "-q", "-b", "main")
    (box.root / "a").write_text("a\n")
    git(box.root, "add", "a")
    git(box.root, "commit", "-q", "-m", "first")
    return box


@pytest.fixture
def worktree(main, new_box, tmp_path):
    """A worktree of that repository, elsewhere."""
    git(main.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    return new_box((tmp_path / "side").resolve())


EVERYDAY = (
    "echo b > b",
    "git add b",
    f"{COMMIT} -m second",
    "git status --porcelain",
    "git log --format=%s",
    "git branch topic",
    "git checkout -q topic",
    "echo c >> a",
    "git stash -q",
    "git stash pop -q",
    f"{COMMIT} -am third",
    "git checkout -q -",
    "git merge -q topic",
    "git tag v1",
    "git gc -q",
    "git log --format=%s",
)
SAID = "second\nfirst\nthird\nsecond\nfirst\n"


async def test_everyday_git_works_in_a_repository(main):
    stash = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    assert await main.sh(" && ".join((stash, *EVERYDAY))) == SAID
    assert git(main.root, "status", "--porcelain") == ""
    assert git(main.root, "log", "--format=%s", "-1") == "third\n"
    assert git(main.root, "fsck", "--no-dangling") == ""


async def test_everyday_git_works_in_a_worktree(worktree, main):
    stash = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
    assert await worktree.sh(" && ".join((stash, *EVERYDAY))) == SAID
    assert git(worktree.root, "log", "--format=%s", "-1") == "third\n"
    assert git(main.root, "log", "--format=%s", "-1") == "first\n"
    assert git(main.root, "fsck", "--no-dangling") == ""


HELD = (
    *("config", "config.worktree", "commondir", "hooks/pre-commit", "info/attributes", "info/exclude"),
    *("modules/x/config", "worktrees/x/commondir", "worktrees/x/config.worktree"),
)


@pytest.mark.parametrize("missing", [(), ("hooks", "info", "config.worktree", "branches")])
async def test_what_makes_git_run_programs_is_held_in_a_repository(main, tree, missing):
    for name in missing:
        subprocess.run(["rm", "-rf", str(main.root / ".git" / name)], check=True)
    before = tree()
    lines = [f"mkdir -p .git/{os.path.dirname(path)}; printf {shlex.quote(EVIL)} > .git/{path}" for path in HELD]
    await main.sh("; ".join([*lines, "true"]))
    moves = "mv .git x; mv .git/hooks .git/h; mv .git/info .git/i; rm -rf .git/hooks .git/config; rmdir .git/worktrees"
    await main.sh(f"{moves}; mkdir .git .git/hooks; ln -sf /etc/passwd .git/config; true")
    await main.sh("git config core.fsmonitor evil; git config --worktree core.pager evil; git remote add o x; true")
    after = tree()
    # `git config` leaves its lock behind, when it can make one and not put it in place
    assert {path: after[path] for path in after if not path.endswith(".lock")} == before
    assert git(main.root, "status", "--porcelain") == ""


async def test_what_makes_git_run_programs_is_held_while_a_command_runs(main):
    script = "printf evil > .git/commondir; cat .git/commondir; git rev-parse --git-common-dir; git status --porcelain"
    said = await main.sh(script)
    assert "Read-only file system" in said
    assert said.endswith(f".\n{main.root}/.git\n")
    assert not (main.root / ".git/commondir").exists()


async def test_what_makes_git_run_programs_is_held_in_a_worktree(worktree, main):
    own = main.root / ".git/worktrees/side"
    before = {path: path.read_text() for path in (own / "commondir", own / "gitdir", main.root / ".git/config")}
    targets = [own / "commondir", own / "gitdir", own / "config.worktree", worktree.root / ".git"]
    common = main.root / ".git"
    targets += [common / "config", common / "hooks/pre-commit", common / "commondir", common / "info/attributes"]
    lines = [f"printf evil > {path}; rm -f {path}" for path in targets]
    await worktree.sh("; ".join([*lines, f"mv {own} {own}2; rm -rf {common}/hooks; true"]))
    assert {path: path.read_text() for path in before} == before
    assert (worktree.root / ".git").read_text() == f"gitdir: {own}\n"
    assert not any(path.exists() for path in (own / "config.worktree", common / "hooks/pre-commit"))
    assert git(worktree.root, "status", "--porcelain") == ""


async def test_a_worktree_does_not_open_the_files_of_its_repository(worktree, main):
    await worktree.sh(f"echo evil > {main.root}/a; echo evil > {main.root}/.git/HEAD; true")
    assert (main.root / "a").read_text() == "a\n"
    assert (main.root / ".git/HEAD").read_text() == "ref: refs/heads/main\n"


async def test_a_worktree_of_a_sub_agent_inside_the_project(main, new_box):
    path = main.root / ".pegboard/worktrees/one"
    git(main.root, "worktree", "add", "-q", "-b", "one", str(path))
    inside = new_box(path)
    assert await inside.sh(f"echo b > b && git add b && {COMMIT} -m second && git log --format=%s") == "second\nfirst\n"
    await inside.sh("echo evil > ../evil; echo evil > ../../settings.json; echo evil > ../../../evil; true")
    assert sorted(item.name for item in (main.root / ".pegboard").rglob("evil")) == []
    assert not (main.root / ".pegboard/settings.json").exists()
    assert not (main.root / "evil").exists()


async def test_the_worktrees_of_sub_agents_cannot_be_changed_from_the_project(main):
    path = main.root / ".pegboard/worktrees/one"
    git(main.root, "worktree", "add", "-q", "-b", "one", str(path))
    await main.sh(f"echo evil > {path}/.git; mv {path} {path}2; ln -s /etc {path}; true")
    assert (path / ".git").read_text() == f"gitdir: {main.root}/.git/worktrees/one\n"


@pytest.mark.parametrize("kind", ["no way back", "another's worktree", "no repository", "a link"])
async def test_a_file_alone_does_not_open_the_folder_that_it_names(main, new_box, tmp_path, kind):
    git(main.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    victim = {
        "no way back": main.root / ".git/worktrees/side",
        "another's worktree": main.root / ".git/worktrees/side",
        "no repository": tmp_path / "home",
        "a link": main.root / ".git/worktrees/side",
    }[kind]
    victim.mkdir(parents=True, exist_ok=True)
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    if kind == "a link":
        (hostile / ".git").symlink_to(tmp_path / "side" / ".git")
        assert repository.linked(str(hostile)) is None
        return
    (hostile / ".git").write_text(f"gitdir: {victim}\n")
    said = await new_box(hostile.resolve()).sh(f"echo evil > {victim}/evil")
    assert "evil: " in said
    assert not (victim / "evil").exists()


async def test_a_repository_at_the_top_of_a_folder_is_held_as_one(box, tree):
    git(box.root, "init", "-q", "--bare")
    before = tree()
    script = "echo evil >> config; echo evil > hooks/post-update; mv hooks h; echo evil > HEAD; echo evil > commondir"
    await box.sh(f"{script}; echo evil > info/attributes; echo evil > config.worktree; true")
    assert tree() == before


async def test_a_folder_cannot_be_made_to_pose_as_a_repository(box, tree):
    await box.sh("mkdir -p objects refs hooks; echo 'ref: refs/heads/x' > HEAD; echo evil > config; true")
    assert subprocess.run(["git", "rev-parse"], cwd=box.root, env=ENV, capture_output=True, check=False).returncode
    assert "HEAD" not in tree()


async def test_deny_write_closes_the_repository_altogether(main, tree):
    before = tree()
    said = await main.sh(f"echo b > .git/b; git add a; {COMMIT} --allow-empty -m x", denyWrite=[".git"])
    assert "Read-only file system" in said
    assert tree() == before
