"""The branch of a repository, and whether it has changes. Nothing that the repository names is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio

SECONDS = 1.0
"""How long to wait for `git status`: a first request should not wait for a huge checkout."""
LARGEST = 1_000_000
OVERRIDES = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.untrackedCache": "false"}


def find_repository(cwd: Path) -> tuple[Path, Path] | None:
    """The root of the checkout around a folder, and its git folder, which may be elsewhere."""
    for folder in (cwd, *cwd.parents):
        entry = folder / ".git"
        if entry.is_dir():
            return folder, entry
        if entry.is_file():
            words = _read(entry)
            if words.startswith("gitdir:"):
                return folder, (folder / words.removeprefix("gitdir:").strip()).resolve()
            return None
    return None


def branch_of(git_folder: Path) -> str:
    """The branch that is checked out, or the commit in short; empty if neither can be read."""
    head = _read(git_folder / "HEAD").strip()
    if head.startswith("ref:"):
        return head.removeprefix("ref:").strip().removeprefix("refs/heads/")
    return f"none (commit {head[:12]})" if head else ""


async def has_changes(root: Path, git_folder: Path) -> bool | None:
    """Whether there are changes that are not committed; None where that takes too long or would run a filter.

    `git status` runs the filters that a repository's own configuration names, and an archive can bring one along.
    """
    common = _read(git_folder / "commondir").strip()
    for folder in {git_folder, (git_folder / common).resolve() if common else git_folder}:
        for name in ("config", "config.worktree"):
            text = _read(folder / name).lower()
            if "filter" in text or "include" in text:
                return None
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    env |= {"GIT_CONFIG_COUNT": str(len(OVERRIDES))}
    for number, (key, value) in enumerate(OVERRIDES.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    command = ["git", "status", "--porcelain", "--ignore-submodules=all"]
    try:
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(command, cwd=root, env=env, check=False, stderr=subprocess.DEVNULL)
    except (OSError, TimeoutError):
        return None
    return bool(done.stdout.strip()) if done.returncode == 0 else None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
