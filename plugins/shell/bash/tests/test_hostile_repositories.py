"""Repositories that try to make git run something: what is judged harmless is run, and the marker must not appear."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pegboard_bash.repository import danger_in, git_environment
from pegboard_bash.repository.config import ConfigError, entries
from pegboard_bash.understanding import understand

GIT_ENV = {
    "PATH": os.environ.get("PATH", ""),
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "a@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env={**GIT_ENV, "HOME": str(folder)}, check=True, capture_output=True)


COMMANDS = [
    "git status",
    "git diff",
    "git diff HEAD~1",
    "git log -p -2",
    "git show HEAD",
    "git blame README.md",
    "git branch",
    "git log --oneline",
    "git grep foo",
    "git stash list",
    "git rev-parse HEAD",
    "git ls-files -m",
    "git describe --always --dirty",
    "git shortlog -s HEAD",
    "git log --format=%an",
    "git log -p -m",
    "git log -p --diff-merges=remerge",
    "git log -p --diff-merges remerge",
    "git log -p --remerge-diff",
    "git log -p --submodule=diff",
    "git log -p --submodule",
    "git diff HEAD~1 --submodule=diff",
    "git diff --no-index README.md nums.txt",
    "git show HEAD:README.md",
    "git cat-file -p HEAD:README.md",
    "git hash-object README.md",
    "git fsck",
    "git submodule status",
    "git ls-remote --get-url",
    "git stash show -p",
    "git reflog",
    "git notes",
    "git remote show -n origin",
    "git log --format='%h %(trailers)'",
    "git log --format=%G?",
    "git for-each-ref --format='%(signature)'",
    "git grep foo HEAD~1",
    "git diff-tree -p HEAD",
    "git rev-list --objects HEAD",
    "git check-attr -a README.md",
]
ATTRIBUTES = "*.md diff=evil filter=evil\n* filter=evil\n"


def configured(key: str, value: str = "touch {marker}; true"):
    def plant(folder: Path, marker: Path) -> None:
        git(folder, "config", key, value.format(marker=marker))
        (folder / ".git" / "info" / "attributes").write_text(ATTRIBUTES)

    return plant


def included(folder: Path, marker: Path) -> None:
    (folder / "evil.cfg").write_text(f'[core]\n\tfsmonitor = "touch {marker}; true"\n')
    git(folder, "config", "include.path", "../evil.cfg")


def included_if(folder: Path, marker: Path) -> None:
    (folder / "evil.cfg").write_text(f'[core]\n\tfsmonitor = "touch {marker}; true"\n')
    git(folder, "config", "includeIf.gitdir:**.path", "../evil.cfg")


def in_worktree_config(folder: Path, marker: Path) -> None:
    git(folder, "config", "extensions.worktreeConfig", "true")
    (folder / ".git" / "config.worktree").write_text(f'[core]\n\tfsmonitor = "touch {marker}; true"\n')


def hooked(folder: Path, marker: Path) -> None:
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)


def hooked_elsewhere(folder: Path, marker: Path) -> None:
    git(folder, "config", "core.hooksPath", "hooks")
    (folder / "hooks").mkdir()
    hook = folder / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)


def attributes_in_tree(folder: Path, marker: Path) -> None:
    (folder / ".gitattributes").write_text(ATTRIBUTES)
    git(folder, "config", "diff.evil.textconv", f"touch {marker}; cat")


def oddly_written(folder: Path, marker: Path) -> None:
    with (folder / ".git" / "config").open("a") as file:
        file.write(f'[CORE] FSMonitor = "touch \\\n{marker}; true"\n')


def submodule(folder: Path, marker: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "a").write_text("a")
    git(inner, "add", "-A")
    git(inner, "commit", "-q", "-m", "x")
    git(folder, "add", "inner")
    git(folder, "commit", "-q", "-m", "inner")
    git(inner, "config", "core.fsmonitor", f"touch {marker}; true")


def merged_again(folder: Path, marker: Path) -> None:
    (folder / ".gitattributes").write_text("*.txt merge=evil\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "attributes")
    for name in ("left", "right"):
        git(folder, "checkout", "-q", "-b", name, "main")
        (folder / "nums.txt").write_text(f"{name}\n")
        git(folder, "commit", "-q", "-am", name)
    git(folder, "merge", "-q", "-s", "ours", "-m", "both", "left")
    git(folder, "config", "merge.evil.driver", f"touch {marker}")


def merged_again_by_configuration(folder: Path, marker: Path) -> None:
    merged_again(folder, marker)
    git(folder, "config", "log.diffMerges", "remerge")


def former_submodule(folder: Path, marker: Path) -> None:
    """History knows a submodule, the index does not, and its folder holds a repository of the attacker's."""
    submodule(folder, marker)
    inner = folder / "inner"
    (inner / "a").write_text("b")
    git(inner, "commit", "-q", "-am", "y")
    git(folder, "add", "inner")
    git(folder, "commit", "-q", "-m", "moved on")
    git(folder, "rm", "-q", "--cached", "inner")
    git(folder, "commit", "-q", "-m", "gone")
    git(inner, "config", "diff.external", f"touch {marker}; true")


def promised(folder: Path, marker: Path) -> None:
    """An object is missing, and git would fetch it from a remote that is a program."""
    for key, value in {
        "remote.origin.url": f"ext::sh -c touch% {marker}",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "protocol.ext.allow": "always",
    }.items():
        git(folder, "config", key, value)
    name = subprocess.check_output(["git", "rev-parse", "HEAD:README.md"], cwd=folder, text=True).strip()
    (folder / ".git" / "objects" / name[:2] / name[2:]).unlink()


PLANTS = {
    "fsmonitor": configured("core.fsmonitor"),
    "external diff": configured("diff.external"),
    "textconv": configured("diff.evil.textconv", "touch {marker}; cat"),
    "diff driver": configured("diff.evil.command"),
    "clean filter": configured("filter.evil.clean", "touch {marker}; cat"),
    "process filter": configured("filter.evil.process"),
    "filter called lfs": configured("filter.lfs.clean", "touch {marker}; cat"),
    "pager": configured("core.pager"),
    "pager of one command": configured("pager.log"),
    "alias": configured("alias.status", "!touch {marker}"),
    "signature program": configured("gpg.program"),
    "signatures in the log": configured("log.showSignature", "true"),
    "format with a signature": configured("format.pretty", "%G?"),
    "alternate refs": configured("core.alternateRefsCommand"),
    "include": included,
    "conditional include": included_if,
    "worktree configuration": in_worktree_config,
    "hook": hooked,
    "hook elsewhere": hooked_elsewhere,
    "attributes in the tree": attributes_in_tree,
    "odd spelling": oddly_written,
    "submodule": submodule,
    "former submodule": former_submodule,
    "merge made again": merged_again,
    "merge made again by configuration": merged_again_by_configuration,
    "missing object": promised,
    "hook by configuration": configured("hook.evil.command"),
    "network helpers": configured("core.sshCommand"),
    "credential helper": configured("credential.helper", "!touch {marker}"),
    "proxy": configured("core.gitProxy"),
    "trailer": configured("trailer.x.command"),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
def test_nothing_runs_in_a_hostile_repository(plant, own_repository, tmp_path):
    marker = tmp_path / "marker"
    plant(own_repository, marker)
    marker.unlink(missing_ok=True)
    (own_repository / "README.md").write_text("# Title\nchanged\n")
    for env in (git_environment(), {}):
        env |= {**GIT_ENV, "HOME": str(tmp_path)}
        for command in COMMANDS:
            if understand(command, own_repository).facts.read_only:
                subprocess.run(["bash", "-c", command], cwd=own_repository, env=env, capture_output=True, check=False)
                assert not marker.exists(), command


@pytest.mark.parametrize(
    "name",
    [
        *("fsmonitor", "external diff", "clean filter", "hook", "textconv", "include", "submodule", "missing object"),
        *("merge made again", "merge made again by configuration"),
    ],
)
def test_a_hostile_repository_would_have_run_its_command(name, own_repository, tmp_path):
    """The other side of the test above: without the check the marker appears, so the plants are real."""
    marker = tmp_path / "marker"
    PLANTS[name](own_repository, marker)
    marker.unlink(missing_ok=True)
    (own_repository / "README.md").write_text("# Title\nchanged\n")
    for command in COMMANDS:
        subprocess.run(
            ["bash", "-c", command], cwd=own_repository, env={**GIT_ENV, "HOME": str(tmp_path)}, capture_output=True
        )
    assert marker.exists()
    assert danger_in(str(own_repository))


def test_git_status_through_the_tool_does_not_run_a_monitor(board, tmp_path, ctx, call_tool, approve):
    git(ctx.cwd, "init", "-q")
    git(ctx.cwd, "config", "core.fsmonitor", "true")
    assert understand("git status", ctx.cwd).facts.read_only
    assert "No commits yet" in call_tool("Bash", command="git status").text


def test_a_bare_repository_in_the_working_directory_asks(tmp_path):
    git(tmp_path, "init", "-q", "--bare", ".")
    assert "bare repository" in understand("git status", tmp_path).facts.reason


def test_a_bare_repository_that_borrows_its_configuration_asks(own_repository, tmp_path):
    folder = tmp_path / "hidden"
    folder.mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "commondir").write_text(f"{own_repository}/.git\n")
    git(own_repository, "config", "core.fsmonitor", "touch x")
    assert "bare repository" in understand("git log", folder).facts.reason


@pytest.mark.parametrize("kind", ["empty", "no head", "odd head"])
def test_a_hollow_repository_does_not_hide_the_one_above(kind, own_repository, tmp_path):
    """Git would go on to the folder above, whose configuration is the one that counts."""
    marker = tmp_path / "marker"
    configured("core.fsmonitor")(own_repository, marker)
    marker.unlink(missing_ok=True)
    inner = own_repository / "src" / ".git"
    inner.mkdir()
    if kind != "empty":
        (inner / "objects").mkdir()
        (inner / "refs").mkdir()
    if kind == "odd head":
        (inner / "HEAD").write_text("nothing\n")
    subprocess.run(["git", "status"], cwd=inner.parent, env={**GIT_ENV, "HOME": str(tmp_path)}, capture_output=True)
    assert marker.exists()
    assert not understand("git status", inner.parent).facts.read_only


def test_a_former_submodule_would_have_run_its_command(own_repository, tmp_path):
    marker = tmp_path / "marker"
    former_submodule(own_repository, marker)
    marker.unlink(missing_ok=True)
    assert not danger_in(str(own_repository))
    command = ["git", "log", "-p", "--submodule=diff"]
    subprocess.run(command, cwd=own_repository, env={**GIT_ENV, "HOME": str(tmp_path)}, capture_output=True)
    assert marker.exists()
    assert not understand(" ".join(command), own_repository).facts.read_only


@pytest.mark.parametrize("name", ["config", "HEAD", "commondir", "config.worktree"])
def test_a_pipe_in_place_of_a_file_asks_and_does_not_wait(name, own_repository):
    path = own_repository / ".git" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert not understand("git status", own_repository).facts.read_only


def test_a_configuration_that_cannot_be_read_asks(own_repository):
    config = own_repository / ".git" / "config"
    config.unlink()
    config.mkdir()
    assert "configuration cannot be read" in understand("git status", own_repository).facts.reason


def test_a_git_file_that_leads_elsewhere_asks(own_repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {own_repository}/.git\n")
    assert not understand("git status", other).facts.read_only


def test_a_worktree_is_read_with_the_configuration_it_shares(own_repository, tmp_path):
    git(own_repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert understand("git status", tmp_path / "tree").facts.read_only
    git(own_repository, "config", "core.fsmonitor", "touch x")
    assert "core.fsmonitor" in understand("git status", tmp_path / "tree").facts.reason


def test_an_ordinary_repository_stays_readable(own_repository):
    for key, value in {
        "remote.origin.url": "https://example.invalid/x.git",
        "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        "branch.main.remote": "origin",
        "user.name": "A; B",
        "core.hooksPath": ".husky/_",
        "filter.lfs.clean": "git-lfs clean -- %f",
        "filter.lfs.process": "git-lfs filter-process",
        "pull.rebase": "true",
    }.items():
        git(own_repository, "config", key, value)
    assert understand("git status", own_repository).facts.read_only


def test_a_change_of_the_configuration_is_noticed(own_repository):
    assert not danger_in(str(own_repository))
    git(own_repository, "config", "core.fsmonitor", "touch x")
    assert "core.fsmonitor" in danger_in(str(own_repository))
    git(own_repository, "config", "--unset", "core.fsmonitor")
    assert not danger_in(str(own_repository))


def test_a_hook_that_appears_later_is_noticed(own_repository, tmp_path):
    assert not danger_in(str(own_repository))
    hooked(own_repository, tmp_path / "marker")
    assert "hook" in danger_in(str(own_repository))


def test_the_environment_for_reading_silences_monitor_hook_and_pager(own_repository, tmp_path):
    marker = tmp_path / "marker"
    configured("core.fsmonitor")(own_repository, marker)
    hooked(own_repository, marker)
    marker.unlink(missing_ok=True)
    env = {**GIT_ENV, "HOME": str(tmp_path), **git_environment()}
    before = (own_repository / ".git" / "index").read_bytes()
    os.utime(own_repository / "README.md")
    for command in ("git status", "git diff", "git log -1"):
        subprocess.run(["bash", "-c", command], cwd=own_repository, env=env, capture_output=True, check=True)
    assert not marker.exists()
    assert (own_repository / ".git" / "index").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a]\nb = c", [("a", "", "b", "c")]),
        ('[A "B.c"] D\n', [("a", "B.c", "d", None)]),
        ("[a.B]\n x-y=1 # no\n", [("a", "b", "x-y", "1")]),
        ('[a]\nb = " x;y " z \\\n w ; no', [("a", "", "b", "x;y  z  w")]),
        ("; no\n# no\n[a]\r\nb=c\r\n", [("a", "", "b", "c")]),
    ],
)
def test_configuration_is_read_as_git_reads_it(text, found):
    assert entries(text) == found


@pytest.mark.parametrize("text", ["b = c", "[a\nb=c", '[a]\nb = "x\n', "[a]\nb = \\q", "[a]\n=b"])
def test_doubtful_configuration_is_refused(text):
    with pytest.raises(ConfigError):
        entries(text)
