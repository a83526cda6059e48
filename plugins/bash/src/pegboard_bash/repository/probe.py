"""Would a reading git command run something of the repository's choosing? Answered from its files, cached by stamps."""

from __future__ import annotations

import os
from pathlib import Path

from pegboard_bash.repository.config import LARGEST, ConfigError, entries
from pegboard_bash.repository.keys import danger_of

Stamp = tuple[tuple[str, int, int, int], ...]
GITLINK = b"\x00\x00\xe0\x00"
"""The mode of a submodule in the index. Found by chance it costs a question, never the other way round."""

OVERRIDES = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.pager", "cat"),
    ("diff.autoRefreshIndex", "false"),
    ("log.showSignature", "false"),
    ("safe.bareRepository", "explicit"),
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
)
_known: dict[str, tuple[Stamp, str, str]] = {}
MOST_KNOWN = 64


def git_environment() -> dict[str, str]:
    """Variables that keep a reading git command from running hooks, monitors and pagers, and from writing its index.

    For commands that only read: a commit under these would skip its hooks.
    """
    found = {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_PAGER": "cat",
        "PAGER": "cat",
        "GIT_CONFIG_COUNT": str(len(OVERRIDES)),
    }
    for number, (key, value) in enumerate(OVERRIDES):
        found[f"GIT_CONFIG_KEY_{number}"], found[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return found


def danger_in(cwd: str) -> str:
    """Why reading with git here may run something, as a sentence; empty when it cannot, also outside a repository."""
    found = _find(cwd)
    if isinstance(found, str):
        return found
    if found is None:
        return ""
    git, common = found
    watched = _watched(git, common)
    stamp = tuple(_stamp(path) for path in watched)
    known = _known.get(git)
    if known is None or known[0] != stamp:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        known = _known[git] = (stamp, *_looked_at(git, common))
    _, answer, hooks = known
    if not answer and os.path.lexists(f"{hooks}/post-index-change"):
        return "The repository has a hook that runs when git refreshes its index."
    return answer


def _looked_at(git: str, common: str) -> tuple[str, str]:
    """The danger in a repository's files, and where its hooks lie."""
    hooks = f"{common}/hooks"
    try:
        for section, subsection, key, value in (*_entries(f"{common}/config"), *_entries(f"{git}/config.worktree")):
            if section == "core" and key == "worktree" and "/modules/" in git:
                continue
            if name := danger_of(section, subsection, key, value):
                return f"The repository sets {name}, and git may run something because of it.", hooks
            if section == "core" and key == "hookspath":
                hooks = os.path.expanduser(value or "")
                if not os.path.isabs(hooks) and git != common:
                    return "Where the hooks of this worktree lie is not certain.", hooks
                hooks = os.path.join(os.path.dirname(git), hooks)
        return _submodules(git), hooks
    except ConfigError as error:
        return str(error), hooks
    except OSError as error:
        return f"The repository's configuration cannot be read: {error.strerror}.", hooks


def _watched(git: str, common: str) -> tuple[str, ...]:
    return (
        f"{common}/config",
        f"{git}/config.worktree",
        f"{git}/index",
        f"{git}/HEAD",
        f"{git}/commondir",
    )


def _stamp(path: str) -> tuple[str, int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0, 0
    return path, found.st_mtime_ns, found.st_size, found.st_ino


def _find(cwd: str) -> tuple[str, str] | str | None:
    """The repository that git would find from here: its folder and the one shared with other worktrees."""
    folder = os.path.realpath(cwd)
    while True:
        at = f"{folder.rstrip('/')}/.git"
        if os.path.isdir(at):
            return _with_common(at)
        if os.path.lexists(at):
            return _linked(at, folder)
        if os.path.exists(f"{folder}/HEAD") and os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs"):
            return f"{folder} is itself a bare repository, whose configuration may run something."
        if folder == "/":
            return None
        folder = os.path.dirname(folder)


def _linked(at: str, folder: str) -> tuple[str, str] | str:
    """A `.git` file, as in worktrees and submodules."""
    try:
        text = Path(at).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return f"{at} cannot be read."
    if not text.startswith("gitdir:") or len(text) > 4096:
        return f"{at} is not understood."
    git = os.path.normpath(os.path.join(folder, text.removeprefix("gitdir:").strip()))
    if os.path.basename(os.path.dirname(git)) not in ("worktrees", "modules") and "/modules/" not in git:
        return f"{at} leads to {git}, which is not a worktree or submodule."
    return _with_common(git)


def _with_common(git: str) -> tuple[str, str] | str:
    try:
        text = Path(git, "commondir").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return git, git
    except (OSError, UnicodeDecodeError):
        return f"{git}/commondir cannot be read."
    return git, os.path.normpath(os.path.join(git, text))


def _entries(path: str) -> list[tuple[str, str, str, str | None]]:
    try:
        if os.path.getsize(path) > LARGEST:
            raise ConfigError(f"{path} is too large to look at.")
        return entries(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None


def _submodules(git: str) -> str:
    """Git looks into submodules with their own configuration."""
    try:
        with open(f"{git}/index", "rb") as file:
            index = file.read()
    except FileNotFoundError:
        return ""
    if GITLINK in index:
        return "The repository has submodules, and git looks into them with their own configuration."
    if any(name.startswith("sharedindex.") for name in os.listdir(git)):
        return "The repository's index is split, so what is in it is not known."
    return ""
