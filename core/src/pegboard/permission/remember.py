"""Keep a rule that a person agreed to: in `.pegboard/settings.local.json`, and as their own."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from pegboard.errors import SettingsError
from pegboard.permission.trust import Trust, reached_by_link, replace_file
from pegboard.settings import Settings, places
from pegboard.settings.reading import parse
from pegboard.settings.rules import rule_text


def local_file(settings: Settings) -> str:
    """Where the rules of one person for one project are kept."""
    return os.path.join(settings.root, places.FOLDER, "settings.local.json")


def remember(rules: Sequence[str], settings: Settings, trust: Trust) -> str:
    """Add allow rules to the local settings file and vouch for it. Returns its path.

    A file that came with the repository is never added to: what else stands in it would count as the person's own.
    """
    path = local_file(settings)
    if reached_by_link(path):
        raise SettingsError("It is reached by a link, so nothing is written there.", source=path)
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
        replace_file(path, made, 0o600)
    except OSError as error:
        raise SettingsError(f"The rule cannot be kept: {error.strerror}.", source=path) from None
    trust.vouch(path, made)
    return path


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"The settings cannot be read: {error.strerror}.", source=path) from None
