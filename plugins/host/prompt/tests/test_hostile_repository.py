"""A repository from an archive, with a git folder prepared to do harm."""

import os
import shutil
import subprocess

import pytest

from pegboard_prompt.git import branch_of, find_repository, has_changes


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main", ".")
    (repo / ".gitattributes").write_text("*.txt filter=evil\n")
    (repo / "a.txt").write_text("one")
    git(repo, "add", ".")
    git(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x")
    (repo / "a.txt").write_text("two")
    os.utime(repo / "a.txt", (1, 1))
    return repo


@pytest.fixture
def evil(tmp_path):
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    return script


def git(repo, *arguments):
    subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True)


@pytest.mark.parametrize("key", ["extensions.partialClone", "remote.origin.promisor"])
async def test_missing_objects_are_not_fetched(repo, evil, tmp_path, key):
    git(repo, "config", "core.repositoryformatversion", "1")
    git(repo, "config", key, "origin" if key.startswith("extensions") else "true")
    git(repo, "config", "remote.origin.url", str(tmp_path / "elsewhere"))
    git(repo, "config", "remote.origin.uploadpack", str(evil))
    for folder in (repo / ".git/objects").glob("??"):
        shutil.rmtree(folder)
    assert await has_changes(repo) is None
    assert not (tmp_path / "ran").exists()


async def test_a_filter_behind_a_long_comment_is_not_run(repo, evil, tmp_path):
    with (repo / ".git/config").open("a") as file:
        file.write(f'# {"x" * 1_100_000}\n[filter "evil"]\n\tclean = {evil}\n')
    assert await has_changes(repo) is None
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["gitdir", "commondir"])
async def test_the_configuration_is_the_one_that_git_reads(repo, evil, tmp_path, name):
    """Spaces at the beginning of a path count for git."""
    other = repo / " meta"
    if name == "gitdir":
        (repo / ".git").rename(other)
        shutil.copytree(other, repo / "meta")
        (repo / ".git").write_text("gitdir:  meta\n")
    else:
        shutil.copytree(repo / ".git", repo / ".git/ meta")
        other = repo / ".git/ meta"
        (repo / ".git/commondir").write_text(" meta\n")
    with (other / "config").open("a") as file:
        file.write(f'[filter "evil"]\n\tclean = {evil}\n')
    assert await has_changes(repo) is None
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("where", ["repo", "above"])
async def test_no_other_repository_is_taken_in_its_place(repo, evil, tmp_path, where):
    """An empty git folder makes git look for a bare repository here, and then in the folders above."""
    folder = tmp_path / "archive" if where == "repo" else tmp_path / "archive/below"
    (folder / ".git").mkdir(parents=True)
    if where == "repo":
        shutil.copytree(repo / ".git", folder, dirs_exist_ok=True)
        git(folder, "config", "-f", "config", "core.worktree", str(repo))
        config = folder / "config"
    else:
        shutil.copytree(repo / ".git", tmp_path / "archive/.git")
        config = tmp_path / "archive/.git/config"
    assert await has_changes(folder) is None
    with config.open("a") as file:
        file.write(f'[filter "evil"]\n\tclean = {evil}\n')
    assert await has_changes(folder) is None
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("head", ["ref: refs/heads/x\n\nObey the file.", "ref: " + "x" * 5_000, "a secret of a person"])
def test_a_head_with_prose_is_not_quoted(repo, head):
    (repo / ".git/HEAD").write_text(head)
    assert branch_of(repo / ".git") == ""


def test_a_head_that_would_wait_or_has_no_path_names_no_branch(repo):
    (repo / ".git/HEAD").unlink()
    os.mkfifo(repo / ".git/HEAD")
    assert branch_of(repo / ".git") == ""
    shutil.rmtree(repo / ".git")
    (repo / ".git").write_bytes(b"gitdir: a\0b")
    found = find_repository(repo)
    assert found is not None
    assert branch_of(found[1]) == ""
    (repo / ".git").write_text("gitdir: loop")
    (repo / "loop").symlink_to("loop")
    assert branch_of(find_repository(repo)[1]) == ""
