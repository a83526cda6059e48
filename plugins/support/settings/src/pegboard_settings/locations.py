"""Where things live: configuration in `.pegboard/`, managed policy in `/etc/pegboard`, cache and state by XDG."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MANAGED = "/etc/pegboard"
COMPATIBLE_MANAGED = "/etc/claude-code"
"""Neither is to be moved by a variable: whoever is managed must not be able to move it."""

FOLDER = ".pegboard"
COMPATIBLE_FOLDER = ".claude"
"""Settings files that another host of the same rules reads. Ours come first where both say something."""

FOLDERS = (FOLDER, COMPATIBLE_FOLDER)
BAKED = "pegboard_features.json"


def home(env: Mapping[str, str]) -> str | None:
    """The home directory, or None where there is none to trust (unset or relative)."""
    place = env.get("HOME", "")
    return os.path.normpath(place) if os.path.isabs(place) else None


def cache_dir(env: Mapping[str, str]) -> str | None:
    """Where the index of installed plugins is kept."""
    return _xdg(env, "XDG_CACHE_HOME", ".cache")


def state_dir(env: Mapping[str, str]) -> str | None:
    """Where transcripts, results, the trust store and the audit log are kept."""
    return _xdg(env, "XDG_STATE_HOME", ".local/state")


def _xdg(env: Mapping[str, str], variable: str, fallback: str) -> str | None:
    base = env.get(variable, "")
    if base and not os.path.isabs(base):
        return None
    if not base:
        at_home = home(env)
        if not at_home:
            return None
        base = os.path.join(at_home, fallback)
    return os.path.join(base, "pegboard")


def baked_file() -> str:
    """The feature file of a built artefact: beside the package, so that no variable and no folder can replace it."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), BAKED)


def managed_files(folders: str | tuple[str, str] = (MANAGED, COMPATIBLE_MANAGED)) -> list[tuple[str, bool]]:
    """The files of the machine's owner, in the order in which they apply; True for those of the compatible kind."""
    own, compatible = (folders, "") if isinstance(folders, str) else folders
    found = [(path, False) for path in _with_parts(own, "settings")]
    if compatible:
        found += [(path, True) for path in _with_parts(compatible, "managed-settings")]
    return found


def _with_parts(folder: str, name: str) -> list[str]:
    extra = os.path.join(folder, f"{name}.d")
    try:
        parts = sorted(part for part in os.listdir(extra) if part.endswith(".json") and not part.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        parts = []
    return [os.path.join(folder, f"{name}.json"), *(os.path.join(extra, part) for part in parts)]


def repository_files(root: str, name: str) -> list[str]:
    """A project's settings files of this name, ours first."""
    return [os.path.join(root, folder, name) for folder in FOLDERS]


def project_files(root: str, cwd: str, name: str) -> list[tuple[str, bool]]:
    """All files of this name that count for a project, the nearest first; True for the compatible kind.

    In a repository with several packages the folder where work starts may have its own, besides the repository's.
    """
    found = list(zip(repository_files(root, name), (False, True), strict=True))
    return found if cwd == root else [(os.path.join(cwd, COMPATIBLE_FOLDER, name), True), *found]


def user_files(env: Mapping[str, str]) -> list[tuple[str, bool]]:
    """The settings files of the person at the keyboard; True for the compatible kind."""
    at_home = home(env)
    moved = env.get("CLAUDE_CONFIG_DIR", "")
    found = [(os.path.join(at_home, FOLDER, "settings.json"), False)] if at_home else []
    if os.path.isabs(moved):
        found.append((os.path.join(moved, "settings.json"), True))
    elif at_home:
        found.append((os.path.join(at_home, COMPATIBLE_FOLDER, "settings.json"), True))
    return found


def project_root(cwd: str, env: Mapping[str, str]) -> str:
    """The nearest folder at or above `cwd` that has `.pegboard` or `.git`; never the home directory or above it.

    Without either, `.claude` marks a project too. It does not where they do: the rules of a repository must not be lost
    in a folder of it that happens to have one.
    """
    for marks in ((FOLDER, ".git"), (COMPATIBLE_FOLDER,)):
        if found := _nearest(cwd, marks, home(env)):
            return found
    return cwd


def _nearest(folder: str, marks: tuple[str, ...], at_home: str | None) -> str | None:
    homes = (at_home, os.path.realpath(at_home)) if at_home else ()  # A home may be a link; folders come resolved.
    while folder not in homes:
        if any(os.path.lexists(os.path.join(folder, name)) for name in marks):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return None


def private_folder(path: Path) -> Path | None:
    """Make a folder, and those above it, that only the user can enter; None when that cannot be had."""
    try:
        for missing in reversed([path, *path.parents]):
            if not missing.exists():
                missing.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        # A link or another user's folder may have been put here to read along.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return None
        if found.st_mode & 0o077:
            path.chmod(0o700)
    except OSError:
        return None
    return path
