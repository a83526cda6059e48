"""What the settings ask of the sandbox, resolved to real paths."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache

from pegboard import Settings
from pegboard.settings import MANAGED, cache_dir, state_dir
from pegboard_processes.environment import is_secret
from pegboard_sandbox.credentials import credential_files, credential_variables
from pegboard_sandbox.rules import from_rules

KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLUMNS", "LINES"),
    *("PAGER", "GIT_*", "NO_COLOR", "CI"),
    *("VIRTUAL_ENV", "PEGBOARD", "PEGBOARD_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "PEGBOARD_PROCESS"),
    *("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_ENV_FILE"),
)
"""The variables that every process gets. Whatever else it needs is named in `sandbox.keepEnv` or `env`."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The sandbox as configured. Paths are absolute; those that are denied are free of links."""

    mechanism: str = "auto"
    required: bool = True
    network: str = "off"
    domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    hidden_by_rules: tuple[str, ...] = ()
    """What rules deny to read. A mechanism that cannot hide anything does without these."""
    allow_read: tuple[str, ...] = ()
    keep_env: tuple[str, ...] = ()
    deny_env: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    allows_bash: bool = True
    may_leave: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Policy | None:
        """The policy, or None where the sandbox is not switched on."""
        if not settings.get("sandbox.enabled"):
            return None
        domains = tuple(settings.get("sandbox.network.allowedDomains"))
        network, rules = settings.get("sandbox.network.mode", "proxy" if domains else "off"), from_rules(settings)
        return cls(
            mechanism=settings.get("sandbox.mechanism"),
            required=settings.get("sandbox.failIfUnavailable"),
            network=network,
            domains=(*domains, *rules.allowed_domains) if network == "proxy" else domains,
            denied_domains=(*settings.get("sandbox.network.deniedDomains"), *rules.denied_domains),
            sockets=_real(_paths(settings, "network.allowUnixSockets")),
            allow_write=(*_paths(settings, "filesystem.allowWrite"), *rules.allow_write),
            deny_write=_real((*_paths(settings, "filesystem.denyWrite"), *rules.deny_write)),
            hidden_by_rules=_real(tuple(rules.deny_read)),
            deny_read=_real((*_paths(settings, "filesystem.denyRead"), *credential_files(settings))),
            allow_read=_real(_paths(settings, "filesystem.allowRead")),
            keep_env=(*settings.get("sandbox.keepEnv"), *settings.get("env", {})),
            deny_env=credential_variables(settings),
            excluded=tuple(settings.get("sandbox.excludedCommands")),
            allows_bash=settings.get("sandbox.autoAllowBashIfSandboxed"),
            may_leave=settings.get("sandbox.allowUnsandboxedCommands"),
        )

    @property
    def unreadable(self) -> tuple[str, ...]:
        """All that may not be read."""
        return (*self.deny_read, *self.hidden_by_rules)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The few variables that a process needs; a secret among them only when it is kept by name."""
        kept, usual, denied = _test(self.keep_env), _test(KEPT), _test(self.deny_env)
        return {
            name: value
            for name, value in env.items()
            if not denied(name) and (kept(name) or (usual(name) and not _is_secret(name, value)))
        }


_is_secret = lru_cache(1024)(is_secret)
"""Asked for the same variables before every process."""


@cache
def _test(patterns: tuple[str, ...]) -> Callable[[str], object]:
    """All patterns as one expression: this is asked for every variable of every process."""
    return re.compile("|".join(translate(pattern) for pattern in patterns) or r"(?!)", re.IGNORECASE).match


def _paths(settings: Settings, key: str) -> tuple[str, ...]:
    expanded = (os.path.expanduser(path) for path in settings.get(f"sandbox.{key}", ()))
    return tuple(os.path.normpath(os.path.join(settings.root, path)) for path in expanded)


def _real(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(os.path.realpath, paths))


def own_folders(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where Pegboard keeps policy and state: no process changes these, whatever is writable around them."""
    found = [MANAGED, cache_dir(env), state_dir(env)]
    layers = (layer for layer in settings.layers if layer.name in ("managed", "user"))
    found += [os.path.dirname(layer.source) for layer in layers if os.path.isabs(layer.source)]
    return tuple(dict.fromkeys(_resolved(folder) for folder in found if folder))


_resolved = cache(os.path.realpath)
"""A process cannot move these: in a writable folder they are mount points."""
