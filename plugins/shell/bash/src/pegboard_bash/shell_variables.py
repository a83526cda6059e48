"""Variables that a hook has set for commands at the start of a session, as the service `shell_environment`."""

from __future__ import annotations

from collections.abc import Mapping

from pegboard import Context

SERVICE = "shell_environment"
STEERING = ("LD_", "DYLD_", "BASH", "GIT_", "PYTHON", "NODE_", "PERL", "RUBY", "LESS", "GREP_", "RIPGREP_")
STEERING_NAMES = frozenset({"PATH", "ENV", "IFS", "PS4", "CDPATH", "HOME", "SHELLOPTS", "PAGER", "EDITOR"})
"""Variables that change what a program does. A command that was found only to read does not get them."""


def shell_variables(ctx: Context, *, only_reads: bool) -> dict[str, str]:
    """What a command finds besides the usual environment."""
    found = ctx.services.others.get(SERVICE)
    if not isinstance(found, Mapping):
        return {}
    return {name: value for name, value in found.items() if not (only_reads and _steers(name))}


def _steers(name: str) -> bool:
    return name in STEERING_NAMES or name.startswith(STEERING)
