"""The names of Pegboard's own tools, hooks and settings, which `core/reserve_names.py` writes into `reserved.txt`.

A text file with one name in each line, so that two branches that each add a plugin can be merged.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pegboard_settings.records import GuardRecord

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reserved.txt")

DISTRIBUTIONS: set[str] = set()
"""Every distribution of the workspace."""
PLUGINS: set[tuple[str, str]] = set()
"""Every plugin: its distribution and its entry point."""
OWNERS: dict[str, tuple[str, str]] = {}
"""Who brings each tool."""
ALIASES: dict[str, str] = {}
"""Former names of tools; rules and transcripts still use them."""
HOOKS: dict[str, str] = {}
"""Who specifies each hook that is not the core's."""
NAMESPACES: dict[str, str] = {}
"""Who declares the settings with this name or in this group."""
GUARDS: dict[str, GuardRecord] = {}
"""Settings that promise protection, and the plugins that keep the promise."""


def _read() -> None:
    # Without the names nothing is reserved and no guard is missed, so a file that is not there must stop everything.
    with open(FILE, encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    for kind, name, *rest in lines:
        if kind == "distribution":
            DISTRIBUTIONS.add(name)
        elif kind == "plugin":
            PLUGINS.add((rest[0], name))
        elif kind == "tool":
            OWNERS[name] = (rest[0], rest[1])
        elif kind == "guard":
            owner, plugins, *marks = rest
            GUARDS[name] = {"owner": owner, "plugins": plugins.split(",")}
            for mark in marks:
                GUARDS[name][mark] = True  # type: ignore[literal-required]
        else:
            {"alias": ALIASES, "hook": HOOKS, "setting": NAMESPACES}[kind][name] = rest[0]


_read()
