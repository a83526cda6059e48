"""Would a reading git command run something of the repository's choosing? Answered from its files, cached by stamps."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, replace

from pegboard_bash.repository.alternates import borrowed
from pegboard_bash.repository.config import LARGEST, ConfigError, entries
from pegboard_bash.repository.keys import FILE_KEYS, danger_of, danger_of_file

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
MOST_KNOWN = 64


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository: its folder, the one that it shares with other worktrees, and the top of the files it is about."""

    git: str
    common: str
    top: str


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """What was seen in a repository's files, and those files, so that a change of one of them is noticed."""

    answer: str
    hooks: str
    files: tuple[str, ...]
    stamp: Stamp = ()


_known: dict[tuple[str, str], RepositoryState] = {}


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
    found = find(cwd)
    if isinstance(found, str):
        return found
    if found is None:
        return ""
    key = (found.git, found.top)
    known = _known.get(key)
    if known is None or known.stamp != _stamps(known.files):
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        known = _looked_at(found)
        known = _known[key] = replace(known, stamp=_stamps(known.files))
    if not known.answer and os.path.lexists(f"{known.hooks}/post-index-change"):
        return "The repository has a hook that runs when git refreshes its index."
    return known.answer


def _looked_at(found: Repository) -> RepositoryState:
    """The danger in a repository's files, and where its hooks are."""
    hooks, files = f"{found.common}/hooks", list(_watched(found.git, found.common))
    try:
        _head(found.git)
        answer = borrowed(found.git, found.common)
        both = (*_entries(f"{found.common}/config"), *_entries(f"{found.git}/config.worktree"))
        if found.git == found.common != f"{found.top.rstrip('/')}/.git" and not any(
            (section, key) == ("core", "worktree") for section, _, key, _ in both
        ):
            answer = answer or f"{found.git} is not known to be a submodule of this folder."
        for section, subsection, key, value in both if not answer else ():
            if (section, key) in FILE_KEYS and value:
                files.append(os.path.join(found.top, value))
            if name := _danger(found, section, subsection, key, value):
                answer = f"The repository sets {name}, which may make git run a program or show other files."
                break
            if section == "core" and key == "hookspath":
                hooks = os.path.expanduser(value or "")
                if not os.path.isabs(hooks) and found.git != found.common:
                    answer = "The hooks folder of this worktree is not known for certain."
                    break
                hooks = os.path.join(os.path.dirname(found.git), hooks)
        answer = answer or _submodules(found.git)
    except ConfigError as error:
        answer = str(error)
    except OSError as error:
        answer = f"The repository's configuration cannot be read: {error.strerror}."
    return RepositoryState(answer, hooks, tuple(files))


def _danger(found: Repository, section: str, subsection: str, key: str, value: str | None) -> str:
    """The name of an entry that may make git run or show something."""
    if section == "core" and key == "worktree":
        # A submodule's own configuration names the folder that led to it. Anything else leads git elsewhere.
        same = os.path.realpath(os.path.join(found.git, value or "")) == os.path.realpath(found.top)
        return "" if same else "core.worktree"
    if (section, key) in FILE_KEYS:
        return danger_of_file(section, key, value or "", found.top)
    return danger_of(section, subsection, key, value)


def _watched(git: str, common: str) -> tuple[str, ...]:
    return (
        f"{common}/config",
        f"{git}/config.worktree",
        f"{git}/index",
        f"{git}/HEAD",
        f"{git}/commondir",
        f"{git}/gitdir",
        *(f"{folder}{inside}" for folder in (git, common) for inside in ("", "/info", "/objects", "/objects/info")),
    )


def _stamps(paths: tuple[str, ...]) -> Stamp:
    return tuple(map(_stamp, paths))


def _stamp(path: str) -> tuple[str, int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0, 0
    return path, found.st_mtime_ns, found.st_size, found.st_ino


def find(cwd: str) -> Repository | str | None:
    """The repository that git would find from here; or why that is not certain, as a sentence."""
    folder = os.path.realpath(cwd)
    while True:
        at = f"{folder.rstrip('/')}/.git"
        if os.path.isdir(at):
            if os.path.islink(at):
                return f"{at} is a symbolic link, so git would read a repository elsewhere."
            # What lacks one of these is no repository to git, and it would look for another one further up.
            whole = os.path.isdir(f"{at}/objects") and os.path.isdir(f"{at}/refs")
            if whole and os.path.lexists(f"{at}/commondir"):
                return f"{at}/commondir points git to another repository."
            return (
                Repository(at, at, folder)
                if whole
                else f"{at} is not a complete repository, so git may use another one."
            )
        if os.path.lexists(at):
            return _linked(at, folder)
        if os.path.lexists(f"{folder}/HEAD") and (
            os.path.lexists(f"{folder}/objects") or os.path.lexists(f"{folder}/commondir")
        ):
            return f"{folder} is itself a bare repository, whose configuration may run something."
        if folder == "/":
            return None
        folder = os.path.dirname(folder)


def _linked(at: str, folder: str) -> Repository | str:
    """A `.git` file, as in worktrees and submodules. A worktree's repository must know of it."""
    try:
        text = _text(at)
        if not text.startswith("gitdir:") or len(text) > 4096:
            return f"{at} is not understood."
        git = os.path.normpath(os.path.join(folder, text.removeprefix("gitdir:").strip()))
        common, name = os.path.split(os.path.dirname(git))
        if name == "worktrees":
            back = os.path.join(git, _text(f"{git}/gitdir").strip())
            shared = os.path.join(git, _text(f"{git}/commondir").strip())
            if os.path.realpath(back) != at or os.path.realpath(shared) != os.path.realpath(common):
                return f"{at} points to {git}, the worktree of another folder."
            return Repository(git, os.path.normpath(shared), folder)
        if "/modules/" not in git or os.path.lexists(f"{git}/commondir"):
            return f"{at} points to {git}, which is not a worktree or submodule."
    except (OSError, ConfigError):
        return f"{at} points to a repository that cannot be read."
    return Repository(git, git, folder)


def _text(path: str) -> str:
    """A small text file. One that is not a plain file, such as a pipe that never ends, is not opened to be read."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError(f"{path} is not a plain file.")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ConfigError(f"{path} is too large to check.")
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
        return "The repository has submodules, and git would use their own configuration."
    if any(name.startswith("sharedindex.") for name in os.listdir(git)):
        return "The repository's index is split, so what is in it is not known."
    return ""
