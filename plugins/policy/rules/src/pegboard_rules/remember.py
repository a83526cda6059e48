"""Save a rule that a person approved in `.pegboard/settings.local.json`, and trust that file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from pegboard import Settings, SettingsError
from pegboard.permission import rule_text
from pegboard.settings import FOLDER, parse
from pegboard_trust import Trust, reached_by_link, replace_file


def local_file(settings: Settings) -> str:
    """Where the rules of one person for one project are kept."""
    return os.path.join(settings.root, FOLDER, "settings.local.json")


def remember(rules: Sequence[str], settings: Settings, trust: Trust) -> str:
    """Add allow rules to the local settings file and mark it as trusted. Returns its path.

    A file that came with the repository is never added to: its other content would then count as the person's own.
    """
    path = local_file(settings)
    if reached_by_link(path):
        raise SettingsError("Its path contains a symbolic link, so nothing is written there.", source=path)
    # Read once: the bytes that are checked here are the ones that are written back below.
    raw = _content(path)
    if raw is not None and not settings.trusted and not trust.vouches(path, raw):
        raise SettingsError(
            "It was not written by Pegboard, and this project is not trusted. Run pegboard trust first.", source=path
        )
    found: dict[str, Any] = parse(raw, path) if raw is not None else {}
    permissions = found.setdefault("permissions", {})
    allow = permissions.setdefault("allow", []) if isinstance(permissions, dict) else None
    if not isinstance(allow, list):
        raise SettingsError("permissions.allow is not a list of rules. Correct it first.", source=path)
    known = {rule_text(item) for item in allow}
    allow += [rule for rule in dict.fromkeys(rules) if rule not in known]
    made = (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # First, so that there is no moment in which the file could be committed.
        _keep_out_of_git(path)
        replace_file(path, made, 0o600)
    except OSError as error:
        raise SettingsError(f"The rule cannot be saved: {error.strerror}.", source=path) from None
    # For exactly these bytes: a later change by anyone else makes the file untrusted again.
    trust.vouch(path, made)
    return path


def _keep_out_of_git(path: str) -> None:
    """Have git ignore the file: it is about one person, and must not be committed for others to trust."""
    folder, name = os.path.split(path)
    ignore = os.path.join(folder, ".gitignore")
    if reached_by_link(ignore):  # Nothing is written through a link that came with a repository.
        raise SettingsError("Its path contains a symbolic link, so nothing is written there.", source=ignore)
    lines = (_content(ignore) or b"").decode("utf-8", "surrogateescape").splitlines()
    if name not in (line.strip().removeprefix("/") for line in lines):
        text = "".join(f"{line}\n" for line in (*lines, name))
        replace_file(ignore, text.encode("utf-8", "surrogateescape"), 0o644)


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"The settings cannot be read: {error.strerror}.", source=path) from None
