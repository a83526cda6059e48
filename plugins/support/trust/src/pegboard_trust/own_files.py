"""Write to a person's own settings files: for one project, or for all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pegboard import Settings, SettingsError
from pegboard.settings import FOLDER, home
from pegboard_trust import Trust, reached_by_link, replace_file


def local_file(settings: Settings) -> str:
    """Where the settings of one person for one project are kept."""
    return os.path.join(settings.root, FOLDER, "settings.local.json")


def user_file(env: Mapping[str, str] | None = None) -> str:
    """Where the settings of one person for all projects are kept; a `SettingsError` where there is no home."""
    at_home = home(os.environ if env is None else env)
    if at_home is None:
        raise SettingsError("There is no home directory, so nothing can be saved for all projects.", source="HOME")
    return os.path.join(at_home, FOLDER, "settings.json")


def change_local_file(settings: Settings, trust: Trust, change: Callable[[bytes | None], bytes]) -> str:
    """Change the local settings file and mark it as trusted. Returns its path.

    `change` gets the content, or None where there is no file. A file that came with the repository is never changed:
    its other content would then count as the person's own.
    """
    path = local_file(settings)
    _refuse_link(path)
    # Read once: the bytes that are checked here are the ones that are changed below.
    raw = content_of(path)
    if raw is not None and not settings.trusted and not trust.vouches(path, raw):
        raise SettingsError(
            "It was not written by Pegboard, and this project is not trusted. Run pegboard trust first.", source=path
        )
    made = change(raw)
    _save(path, made, before=_keep_out_of_git)
    # For exactly these bytes: a later change by anyone else makes the file untrusted again.
    trust.vouch(path, made)
    return path


def change_user_file(path: str, change: Callable[[bytes | None], bytes]) -> str:
    """Change the person's settings for all projects. Returns the path."""
    _refuse_link(path)
    _save(path, change(content_of(path)))
    return path


def content_of(path: str) -> bytes | None:
    """The content of a file; None where there is none."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"The settings cannot be read: {error.strerror}.", source=path) from None


def _save(path: str, made: bytes, before: Callable[[str], None] = lambda path: None) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        before(path)  # First, so that there is no moment in which the file could be committed.
        replace_file(path, made, 0o600)
    except OSError as error:
        raise SettingsError(f"The settings cannot be saved: {error.strerror}.", source=path) from None


def _keep_out_of_git(path: str) -> None:
    """Have git ignore the file: it is about one person, and must not be committed for others to trust."""
    folder, name = os.path.split(path)
    ignore = os.path.join(folder, ".gitignore")
    _refuse_link(ignore)  # Nothing is written through a link that came with a repository.
    lines = (content_of(ignore) or b"").decode("utf-8", "surrogateescape").splitlines()
    if name not in (line.strip().removeprefix("/") for line in lines):
        text = "".join(f"{line}\n" for line in (*lines, name))
        replace_file(ignore, text.encode("utf-8", "surrogateescape"), 0o644)


def _refuse_link(path: str) -> None:
    if reached_by_link(path):
        raise SettingsError("Its path contains a symbolic link, so nothing is written there.", source=path)
