"""Save a rule that a person approved in `.pegboard/settings.local.json`, and trust that file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pegboard import Settings, SettingsError
from pegboard.permission import rule_text
from pegboard.settings import parse
from pegboard_trust import Trust
from pegboard_trust.own_files import change_local_file, local_file


def remember(rules: Sequence[str], settings: Settings, trust: Trust) -> str:
    """Add allow rules to the local settings file and mark it as trusted. Returns its path."""
    path = local_file(settings)

    def add(raw: bytes | None) -> bytes:
        found: dict[str, Any] = parse(raw, path) if raw is not None else {}
        permissions = found.setdefault("permissions", {})
        allow = permissions.setdefault("allow", []) if isinstance(permissions, dict) else None
        if not isinstance(allow, list):
            raise SettingsError("permissions.allow is not a list of rules. Correct it first.", source=path)
        known = {rule_text(item) for item in allow}
        allow += [rule for rule in dict.fromkeys(rules) if rule not in known]
        return (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode()

    return change_local_file(settings, trust, add)
