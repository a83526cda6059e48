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
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS.keys())
def test_nothing_runs_in_a_hostile_repository(plant, own_repository, tmp_path):
    marker = tmp_path / "marker"
    plant(own_repository, marker)
    marker.unlink(missing_ok=True)
    (own_repository / "README.md").write_text("# Title\nchanged\n")
    env = {**GIT_ENV, "HOME": str(tmp_path), **git_environment()}
    for command in COMMANDS:
        if understand(command, own_repository).facts.read_only:
            subprocess.run(["bash", "-c", command], cwd=own_repository, env=env, capture_output=True, check=False)
    assert not marker.exists()


@pytest.mark.parametrize(
    "name", ["fsmonitor", "external diff", "clean filter", "hook", "textconv", "include", "submodule"]
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
