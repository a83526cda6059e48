"""Repositories that make git show what lies elsewhere, and those that only look as if they did."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pegboard_bash.repository import danger_in
from pegboard_bash.repository.index import tracked
from pegboard_bash.understanding import understand

ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file",
    **{f"GIT_{who}_{what}": "a@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *words: str) -> str:
    env = {**ENV, "HOME": str(folder)}
    return subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


FILES = ["blame.ignoreRevsFile", "core.excludesFile", "core.attributesFile", "diff.orderFile", "mailmap.file"]
ELSEWHERE = ["/etc/passwd", "../outside", "~/x", "%(prefix)/x", "src/../../x", ".git/config", "/"]


@pytest.mark.parametrize("key", [*FILES, "commit.template"])
@pytest.mark.parametrize("value", ELSEWHERE)
def test_an_entry_that_names_a_file_elsewhere_asks(own_repository, key, value):
    git(own_repository, "config", key, value)
    assert key.lower() in danger_in(str(own_repository)).lower()


@pytest.mark.parametrize("key", FILES)
@pytest.mark.parametrize("value", [".git-blame-ignore-revs", "src/list", "not-there", ""])
def test_an_entry_that_names_a_file_of_the_project_is_fine(own_repository, key, value):
    for name in (".git-blame-ignore-revs", "src/list"):
        (own_repository / name).write_text(f"# A comment\n\n{'a' * 40}\n{'b' * 40} # why\n")
    git(own_repository, "config", key, value)
    assert danger_in(str(own_repository)) == ""


@pytest.mark.parametrize("text", ["secret\n", "a" * 39 + "\n", "a" * 40 + " secret\n", "A" * 40 + "\n", "\0\n"])
def test_a_list_of_revisions_that_holds_something_else_asks(own_repository, text):
    (own_repository / "revs").write_text(text)
    git(own_repository, "config", "blame.ignoreRevsFile", "revs")
    assert "blame.ignorerevsfile" in danger_in(str(own_repository))


def test_a_list_of_revisions_is_looked_at_again_when_it_changes(own_repository):
    (own_repository / "revs").write_text("")
    git(own_repository, "config", "blame.ignoreRevsFile", "revs")
    assert danger_in(str(own_repository)) == ""
    (own_repository / "revs").unlink()
    (own_repository / "revs").symlink_to("/etc/passwd")
    assert "blame.ignorerevsfile" in danger_in(str(own_repository))


@pytest.mark.parametrize("name", ["alternates", "http-alternates"])
def test_borrowed_objects_ask(own_repository, name):
    assert danger_in(str(own_repository)) == ""
    (own_repository / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (own_repository / ".git" / "objects" / "info" / name).write_text("/elsewhere/.git/objects\n")
    assert "borrows objects" in danger_in(str(own_repository))


@pytest.mark.parametrize(
    "name", ["packed-refs", "info/exclude", "info/attributes", "objects/pack", "refs/heads/x", "x"]
)
def test_a_link_inside_the_repository_asks(own_repository, tmp_path, name):
    path = own_repository / ".git" / name
    if path.is_dir():
        path.rename(tmp_path / "moved")
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(tmp_path / "elsewhere")
    assert "is a symbolic link" in danger_in(str(own_repository))


def test_a_repository_behind_a_link_asks(own_repository, tmp_path):
    (own_repository / ".git").rename(tmp_path / "git")
    (own_repository / ".git").symlink_to(tmp_path / "git")
    assert "is a symbolic link" in danger_in(str(own_repository))


def test_a_real_worktree_is_fine_and_a_false_one_asks(own_repository, tmp_path):
    tree = tmp_path / "tree"
    git(own_repository, "worktree", "add", "-q", str(tree))
    assert danger_in(str(tree)) == ""
    thief = tmp_path / "thief"
    thief.mkdir()
    (thief / ".git").write_text((tree / ".git").read_text())
    assert "worktree of another folder" in danger_in(str(thief))


def test_a_worktree_that_shares_another_repository_asks(own_repository, tmp_path):
    tree = tmp_path / "tree"
    git(own_repository, "worktree", "add", "-q", str(tree))
    (own_repository / ".git" / "worktrees" / "tree" / "commondir").write_text("/elsewhere/.git\n")
    assert danger_in(str(tree))


def test_a_folder_that_shares_another_repository_asks(own_repository):
    (own_repository / ".git" / "commondir").write_text("/elsewhere/.git\n")
    assert "another repository" in danger_in(str(own_repository))


@pytest.mark.parametrize("worktree", ["/", "../../..", "/etc", None])
def test_a_module_that_works_elsewhere_asks(own_repository, tmp_path, worktree):
    module, folder = own_repository / ".git" / "modules" / "m", own_repository / "m"
    folder.mkdir()
    module.parent.mkdir()
    git(own_repository, "init", "-q", f"--separate-git-dir={module}", str(folder))
    git(folder, "config", "core.worktree", "../../../m")
    assert danger_in(str(folder)) == ""
    git(folder, "config", *(("core.worktree", worktree) if worktree else ("--unset", "core.worktree")))
    assert danger_in(str(folder))


@pytest.mark.parametrize("key", ["lfs.extension.x.clean", "lfs.customtransfer.x.path", "lfs.standalonetransferagent"])
def test_programs_of_large_file_storage_ask(own_repository, key):
    git(own_repository, "config", key, "./evil")
    assert danger_in(str(own_repository))


def test_the_index_is_read_as_git_reads_it(own_repository):
    (own_repository / "ünï cödé").write_text("")
    (own_repository / ("long" * 50)).write_text("")
    git(own_repository, "add", "-A")
    git(own_repository, "add", "-N", ".")
    listed = git(own_repository, "ls-files", "-z").split("\0")[:-1]
    assert tracked(str(own_repository / ".git" / "index")) == listed
    assert tracked(str(own_repository / "README.md")) is None
    assert tracked(str(own_repository / "nope")) == []


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("git blame d:x", "d:x"),
        ("git diff --no-index a d:x", "d:x"),
        ("git show HEAD:d:x", "d:x"),
        ("git show HEAD:gone", "gone"),
        ("git show :gone", "gone"),
        ("git show :0:gone", "gone"),
        ("git log -- gone", "gone"),
        ("git log -L1,2:gone", "gone"),
        ("git log -L 1,2:gone", "gone"),
        ("git diff -- ':(icase)GONE'", "GONE"),
        ("git diff -- :/gone", "gone"),
        ("git diff ':!gone'", "gone"),
        ("git blame HEAD~1 gone", "gone"),
        ("git cat-file -p HEAD:./gone", "gone"),
    ],
)
def test_each_file_that_git_would_show_is_named(command, path, own_repository):
    (own_repository / "d:x").write_text("")
    assert own_repository / path in understand(command, own_repository).facts.reads
