"""The branch of a repository, and whether it has changes. Nothing that the repository names is run."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import anyio

SECONDS = 1.0
"""How long to wait for `git status`: a first request should not wait for a huge checkout."""
LARGEST = 10_000
OVERRIDES = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.untrackedCache": "false",
    "safe.bareRepository": "explicit",
}
RUNS = re.compile(r"(filter|include|includeif)\.|extensions\.partialclone$|remote\..*\.promisor$", re.DOTALL)
"""Keys that make `git status` run a command: a filter, or the fetch of objects that a partial clone lacks."""
BRANCH = re.compile(r"[^\s\x00-\x1f\x7f<>]{1,200}")
"""What may be a branch: text in its place must not pass for more of the prompt."""


def find_repository(cwd: Path) -> tuple[Path, Path] | None:
    """The root of the checkout around a folder, and its git folder, which may be elsewhere."""
    for folder in (cwd, *cwd.parents):
        entry = folder / ".git"
        if entry.is_dir():
            return folder, entry
        if entry.is_file():
            words = _read(entry)
            if words.startswith("gitdir:"):
                return folder, folder / words.removeprefix("gitdir:").strip()
            return None
    return None


def branch_of(git_folder: Path) -> str:
    """The branch that is checked out, or the commit in short; empty if neither can be read."""
    head = _read(git_folder / "HEAD").strip()
    if head.startswith("ref:"):
        name = head.removeprefix("ref:").strip().removeprefix("refs/heads/")
        return name if BRANCH.fullmatch(name) else ""
    return f"none (commit {head[:12]})" if re.fullmatch(r"[0-9a-f]{40,64}", head) else ""


async def has_changes(root: Path) -> bool | None:
    """Whether there are changes that are not committed; None where that takes too long or would run a command.

    `git status` runs what a repository's own configuration names, and an archive can bring one along. Git itself is
    asked for that configuration, so that no other one is read than the one it would use.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    env |= {"GIT_CEILING_DIRECTORIES": str(root.parent), "GIT_CONFIG_COUNT": str(len(OVERRIDES))}
    for number, (key, value) in enumerate(OVERRIDES.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    try:
        with anyio.fail_after(SECONDS):
            keys = await _git(["config", "--list", "--show-scope", "--name-only", "-z"], root, env)
            if keys is None or _runs_something(keys):
                return None
            status = await _git(["status", "--porcelain", "--ignore-submodules=all"], root, env)
    except (OSError, TimeoutError):
        return None
    return None if status is None else bool(status.strip())


async def _git(arguments: list[str], root: Path, env: Mapping[str, str]) -> bytes | None:
    done = await anyio.run_process(["git", *arguments], cwd=root, env=env, check=False, stderr=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 else None


def _runs_something(listed: bytes) -> bool:
    """Whether the repository itself sets a key that makes git run a command; what the person has set may."""
    words = listed.decode("utf-8", "replace").split("\0")
    return any(scope in ("local", "worktree") and RUNS.match(key) for scope, key in pairwise(words))


def _read(path: Path) -> str:
    """The beginning of a regular file; empty for anything else. Without waiting: a FIFO must not hold up a session."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return ""
    with open(descriptor, "rb") as file:
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(LARGEST).decode("utf-8", "replace") if is_regular else ""
