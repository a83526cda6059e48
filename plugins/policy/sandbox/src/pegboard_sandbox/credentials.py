"""The setting `sandbox.credentials`: files and variables with secrets that no sandboxed process may have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pegboard import Settings

KEY = "sandbox.credentials"


def credential_files(settings: Settings) -> tuple[str, ...]:
    """The files that must not be read. A relative path starts at the root of the project."""
    paths = (os.path.expanduser(path) for path in _named(settings, "files", "path"))
    return tuple(os.path.normpath(os.path.join(settings.root, path)) for path in paths)


def credential_variables(settings: Settings) -> tuple[str, ...]:
    """The variables that must not be passed on."""
    return tuple(_named(settings, "envVars", "name"))


def faults(settings: Settings) -> list[str]:
    """What cannot be done, as sentences. Whatever mode an entry has, the secret is withheld."""
    found = []
    for layer in settings.holders(KEY):
        value = layer.values[KEY]
        source = layer.source_of(KEY)
        found += [f"{source}: {KEY} has no {name!r}." for name in value if name not in FIELDS]
        for kind, field in FIELDS.items():
            for entry in _entries(value, kind):
                if not _name(entry, field):
                    found.append(f"{source}: {KEY}.{kind}: each entry needs a {field!r}, got {entry!r}.")
                elif isinstance(entry, Mapping) and entry.get("mode", "deny") != "deny":
                    words = f"the mode {entry['mode']!r} is not supported, so {_name(entry, field)} is denied."
                    found.append(f"{source}: {KEY}.{kind}: {words}")
    return found


FIELDS = {"files": "path", "envVars": "name"}


def _named(settings: Settings, kind: str, field: str) -> list[str]:
    """What every layer names: each adds to what is withheld."""
    entries = [entry for layer in settings.holders(KEY) for entry in _entries(layer.values[KEY], kind)]
    return [name for entry in entries if (name := _name(entry, field))]


def _entries(value: Mapping[str, Any], kind: str) -> list[Any]:
    found = value.get(kind, [])
    return found if isinstance(found, list) else [found]


def _name(entry: Any, field: str) -> str:
    found = entry.get(field) if isinstance(entry, Mapping) else entry
    return found if isinstance(found, str) else ""
