"""Find git's global excludes file from its configuration, without running git. `include` is not followed."""

from __future__ import annotations

import os
from collections.abc import Mapping

LARGEST_FILE = 1_000_000


def excludes_file(env: Mapping[str, str], repository: str | None = None) -> str | None:
    """The file with the user's own ignore rules, whether or not it exists; None when git would use none."""
    for config in _configs(env, repository):
        found = _excludes_in(config)
        if found is not None:
            return _expanded(found, env) if found else None
    folder = _config_folder(env)
    return os.path.join(folder, "git", "ignore") if folder else None


def _configs(env: Mapping[str, str], repository: str | None) -> list[str]:
    """The configuration files, strongest first."""
    found = [os.path.join(repository, ".git", "config")] if repository else []
    if "GIT_CONFIG_GLOBAL" in env:
        found.append(env["GIT_CONFIG_GLOBAL"])
    else:
        if env.get("HOME"):
            found.append(os.path.join(env["HOME"], ".gitconfig"))
        if folder := _config_folder(env):
            found.append(os.path.join(folder, "git", "config"))
    if env.get("GIT_CONFIG_NOSYSTEM", "").lower() not in ("1", "true", "yes", "on"):
        found.append(env.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    return found


def _config_folder(env: Mapping[str, str]) -> str | None:
    if env.get("XDG_CONFIG_HOME"):
        return env["XDG_CONFIG_HOME"]
    return os.path.join(env["HOME"], ".config") if env.get("HOME") else None


def _excludes_in(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST_FILE).decode("utf-8", "surrogateescape")
    except OSError:
        return None
    section, found = "", None
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            section, _, line = line[1:].partition("]")
            section = section.strip().lower()
        key, equals, value = line.partition("=")
        if section == "core" and equals and key.strip().lower() == "excludesfile":
            found = _value(value.strip())
    return found


def _value(text: str) -> str:
    """A value without quotes and comments."""
    made, quoted, at = list[str](), False, 0
    while at < len(text):
        sign = text[at]
        if sign == "\\" and at + 1 < len(text):
            at += 1
            made.append(text[at])
        elif sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            made.append(sign)
        at += 1
    return "".join(made).strip()


def _expanded(path: str, env: Mapping[str, str]) -> str:
    return os.path.join(env.get("HOME", "/"), path[2:]) if path.startswith("~/") else path


def info_excludes(repository: str) -> str:
    """The file of ignore rules inside a repository, also where `.git` is a file that points elsewhere."""
    git = os.path.join(repository, ".git")
    try:
        with open(git, "rb") as file:
            pointer = file.read(4096).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return os.path.join(git, "info", "exclude")
    folder = os.path.join(repository, pointer.removeprefix("gitdir:").strip())
    try:
        with open(os.path.join(folder, "commondir"), "rb") as file:
            folder = os.path.join(folder, file.read(4096).decode("utf-8", "surrogateescape").strip())
    except OSError:
        pass
    return os.path.join(folder, "info", "exclude")
