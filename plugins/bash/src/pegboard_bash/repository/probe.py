"""Would a reading git command run something of the repository's choosing? Answered from its files, cached by stamps."""

from __future__ import annotations

import os
import re
import stat

from pegboard_bash.repository.config import LARGEST, ConfigError, entries
from pegboard_bash.repository.keys import danger_of

Stamp = tuple[tuple[str, int, int, int], ...]
GITLINK = b"\x00\x00\xe0\x00"
"""The mode of a submodule in the index. Found by chance it costs a question, never the other way round."""

HEAD = re.compile(r"ref:\s*refs/|[0-9a-f]{40}")
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
        _head(git)
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
            # What lacks one of these is no repository to git, and it would look for another one further up.
            whole = os.path.isdir(f"{at}/objects") and os.path.isdir(f"{at}/refs")
            return _with_common(at) if whole else f"{at} is not a whole repository, so git may find another one."
        if os.path.lexists(at):
            return _linked(at, folder)
        if os.path.lexists(f"{folder}/HEAD") and (
            os.path.lexists(f"{folder}/objects") or os.path.lexists(f"{folder}/commondir")
        ):
            return f"{folder} is itself a bare repository, whose configuration may run something."
        if folder == "/":
            return None
        folder = os.path.dirname(folder)


def _linked(at: str, folder: str) -> tuple[str, str] | str:
    """A `.git` file, as in worktrees and submodules."""
    try:
        text = _text(at)
    except (OSError, ConfigError):
        return f"{at} cannot be read."
    if not text.startswith("gitdir:") or len(text) > 4096:
        return f"{at} is not understood."
    git = os.path.normpath(os.path.join(folder, text.removeprefix("gitdir:").strip()))
    if os.path.basename(os.path.dirname(git)) not in ("worktrees", "modules") and "/modules/" not in git:
        return f"{at} leads to {git}, which is not a worktree or submodule."
    return _with_common(git)


def _with_common(git: str) -> tuple[str, str] | str:
    try:
        text = _text(f"{git}/commondir").strip()
    except FileNotFoundError:
        return git, git
    except (OSError, ConfigError):
        return f"{git}/commondir cannot be read."
    return git, os.path.normpath(os.path.join(git, text))


def _text(path: str) -> str:
    """A small text file. One that is not a plain file, such as a pipe that never ends, is not opened to be read."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError(f"{path} is not a plain file.")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ConfigError(f"{path} is too large to look at.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _head(git: str) -> None:
    """To git a folder whose HEAD says nothing is no repository: it would look for another one further up."""
    link = os.readlink(f"{git}/HEAD") if os.path.islink(f"{git}/HEAD") else ""
    if not link.startswith("refs/") and not HEAD.match(_text(f"{git}/HEAD")):
        raise ConfigError(f"{git}/HEAD is not understood.")


def _entries(path: str) -> list[tuple[str, str, str, str | None]]:
    try:
        return entries(_text(path))
    except FileNotFoundError:
        return []


def _submodules(git: str) -> str:
    """Git looks into submodules with their own configuration."""
    try:
        with open(f"{git}/index", "rb", opener=_without_waiting) as file:
            index = file.read()
    except FileNotFoundError:
        return ""
    if GITLINK in index:
        return "The repository has submodules, and git looks into them with their own configuration."
    if any(name.startswith("sharedindex.") for name in os.listdir(git)):
        return "The repository's index is split, so what is in it is not known."
    return ""
