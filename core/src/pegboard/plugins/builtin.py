"""The tools that are Pegboard's own. "Built-in" means being in the generated table, not having a certain prefix.

The names are reserved even where the distribution is not installed: no other distribution becomes `Bash` by accident.
"""

from __future__ import annotations

from pegboard.reserved import ALIASES as ALIASES
from pegboard.reserved import DISTRIBUTIONS
from pegboard.reserved import OWNERS as OWNERS
from pegboard.reserved import PLUGINS as PLUGINS

RESERVED = frozenset(OWNERS) | frozenset(ALIASES)

BY_FULL_NAME = ("providers", "policy", "support")
"""Families that hold no tools: family switches do not reach them, their plugins are named one by one."""

ENTRIES = frozenset(entry for _, entry in PLUGINS)
FAMILIES = tuple(sorted({entry.partition(".")[0] for entry in ENTRIES} - {*BY_FULL_NAME}))


def is_builtin(dist: str, entry: str) -> bool:
    """Whether this plugin is one of Pegboard's own."""
    return entry in ENTRIES and (normalise(dist), entry) in PLUGINS


def is_own(dist: str) -> bool:
    """Whether this distribution is one of Pegboard's own."""
    return normalise(dist) in DISTRIBUTIONS


def owner_of(name: str) -> tuple[str, str] | None:
    """The distribution and entry that own a reserved name."""
    return OWNERS.get(ALIASES.get(name, name))


def normalise(dist: str) -> str:
    """Distribution names compare without regard to case and to the choice of `-`, `_` and `.`."""
    return "-".join(part for part in dist.lower().replace("_", "-").replace(".", "-").split("-") if part)
