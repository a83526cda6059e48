"""What the settings ask of the sandbox, resolved to real paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

from pegboard.host.environment import is_secret
from pegboard.settings import places
from pegboard.settings.layers import Settings

KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLUMNS", "LINES"),
    *("PAGER", "GIT_*", "NO_COLOR", "CI"),
    *("VIRTUAL_ENV", "PEGBOARD", "PEGBOARD_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "PEGBOARD_PROCESS"),
)
"""The variables that every process gets. Whatever else it needs is named in `sandbox.keepEnv` or `env`."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The sandbox as configured. Paths are absolute and free of links."""

    mechanism: str = "auto"
    required: bool = True
    network: str = "off"
    domains: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    keep_env: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Policy | None:
        """The policy, or None where the sandbox is not switched on."""
        if not settings.get("sandbox.enabled", False):
            return None
        return cls(
            settings.get("sandbox.mechanism", "auto"),
            settings.get("sandbox.failIfUnavailable", True),
            settings.get("sandbox.network", "off"),
            tuple(settings.get("sandbox.allowedDomains", ())),
            _paths(settings, "sandbox.allowWrite"),
            _paths(settings, "sandbox.denyWrite"),
            _paths(settings, "sandbox.denyRead"),
            (*settings.get("sandbox.keepEnv", ()), *settings.get("env", {})),
        )

    def folders_to_write(self) -> tuple[Path, ...]:
        """The folders among what may be written: what is protected in a working directory is protected in these too."""
        return tuple(Path(path) for path in self.allow_write if os.path.isdir(path))

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The few variables that a process needs; a secret among them only when it is kept by name."""
        kept, usual = _test(self.keep_env), _test(KEPT)
        return {
            name: value for name, value in env.items() if kept(name) or (usual(name) and not is_secret(name, value))
        }


@cache
def _test(patterns: tuple[str, ...]) -> Callable[[str], object]:
    """All patterns as one expression: this is asked for every variable of every process."""
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)", re.IGNORECASE).match


def _paths(settings: Settings, key: str) -> tuple[str, ...]:
    expanded = (os.path.expanduser(path) for path in settings.get(key, ()))
    return tuple(os.path.realpath(os.path.join(settings.root, path)) for path in expanded)


def own_folders(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where Pegboard keeps policy and state: no process changes these, whatever is writable around them."""
    found = [places.MANAGED, places.cache_dir(env), places.state_dir(env)]
    layers = (layer for layer in settings.layers if layer.name in ("managed", "user"))
    found += [os.path.dirname(layer.source) for layer in layers if os.path.isabs(layer.source)]
    return tuple(dict.fromkeys(os.path.realpath(folder) for folder in found if folder))
