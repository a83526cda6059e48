"""Where things live: configuration in `.pegboard/`, managed policy in `/etc/pegboard`, cache and state by XDG."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MANAGED = "/etc/pegboard"
"""Not to be moved by a variable: whoever is managed must not be able to move it."""

FOLDER = ".pegboard"
BAKED = "pegboard_features.json"


def home(env: Mapping[str, str]) -> str | None:
    """The home directory, or None where there is none to trust (unset or relative)."""
    place = env.get("HOME", "")
    return place if os.path.isabs(place) else None


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
    return os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), BAKED)


def managed_files(folder: str = MANAGED) -> list[str]:
    """The files of the machine's owner, in the order in which they apply."""
    extra = os.path.join(folder, "settings.d")
    try:
        parts = sorted(name for name in os.listdir(extra) if name.endswith(".json"))
    except FileNotFoundError:
        parts = []
    return [os.path.join(folder, "settings.json"), *(os.path.join(extra, name) for name in parts)]


def project_root(cwd: str, env: Mapping[str, str]) -> str:
    """The nearest folder at or above `cwd` that has `.pegboard` or `.git`; never the home directory or above it."""
    at_home = home(env)
    folder = cwd
    while folder != at_home:
        if os.path.exists(os.path.join(folder, FOLDER)) or os.path.exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return cwd
