"""Write the names that Pegboard's own plugins reserve: tools, plugins, hooks, groups of settings, guards.

Run `python core/reserve_names.py` after a plugin was added to the workspace, a tool renamed or a setting declared.
With `--check` it fails where the file is out of date. The file is part of the core's wheel.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from textwrap import wrap
from typing import Any

from pegboard.plugins import index
from pegboard.plugins.builtin import normalise
from pegboard.plugins.declarations import FILE, read_declaration
from pegboard.plugins.discovery import discover
from pegboard.plugins.hook_checks import read_hooks
from pegboard.plugins.scan import scan

WORKSPACE = Path(__file__).parent.parent
WIDTH = 116
TARGET = WORKSPACE / "core/src/pegboard/reserved.py"
HEAD = '''"""The names of Pegboard's own tools, hooks and settings. Written by core/reserve_names.py; do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pegboard.records import GuardRecord

# fmt: off
'''


def projects() -> dict[str, tuple[Path, dict[str, Any]]]:
    """Each distribution of the workspace with its folder and its entry points."""
    found = {}
    for file in sorted([WORKSPACE / "core/pyproject.toml", *WORKSPACE.glob("plugins/*/*/pyproject.toml")]):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        found[normalise(project["name"])] = (file.parent, project.get("entry-points", {}))
    return found


def tables() -> dict[str, Any]:
    """What the file holds, from the workspace's projects and their installed plugins."""
    ours = projects()
    plugins = sorted((dist, entry) for dist, (_, points) in ours.items() for entry in points.get("pegboard", ()))
    owners: dict[str, tuple[str, str]] = {}
    aliases: dict[str, str] = {}
    for plugin in discover(index.roots())["plugins"]:
        owner = (normalise(plugin["dist"]), plugin["entry"])
        if owner not in plugins:
            continue
        scanned = scan(plugin)  # A plugin that is new here was refused for its settings: it is not in the file yet.
        if scanned["state"] != "active":
            raise SystemExit(f"{plugin['id']} cannot be loaded: {scanned['reason']}")
        for tool in scanned["tools"]:
            owners[tool["name"]] = owner
            aliases |= dict.fromkeys(tool["aliases"], tool["name"])
    hooks: dict[str, Any] = {}
    for dist, (folder, points) in ours.items():
        for value in points.get("pegboard.hookspecs", {}).values():
            path = folder / "src" / f"{value.partition(':')[0].replace('.', '/')}.py"
            hooks |= read_hooks(str(path), value, dist, hooks)
    namespaces: dict[str, str] = {}
    guards: dict[str, Any] = {}
    for dist, (folder, points) in ours.items():
        for package in points.get("pegboard.settings", {}).values():
            path, entries = folder / "src" / package.replace(".", "/") / FILE, list(points.get("pegboard", ()))
            for name, record in read_declaration(str(path), dist, entries, own=True)[0].items():
                namespaces[name.partition(".")[0]] = dist
                if record.get("guard") and package != "pegboard":  # The core is always here.
                    wanted = ("owner", "plugins", "repository", "compatible")
                    guards[name] = {field: record[field] for field in wanted if field in record}  # type: ignore[literal-required]
    return {
        "DISTRIBUTIONS: frozenset[str]": sorted(ours),
        "PLUGINS: frozenset[tuple[str, str]]": plugins,
        "OWNERS: dict[str, tuple[str, str]]": owners,
        "ALIASES: dict[str, str]": aliases,
        "HOOKS: dict[str, str]": {name: hook["owner"] for name, hook in hooks.items()},
        "NAMESPACES: dict[str, str]": namespaces,
        "GUARDS: dict[str, GuardRecord]": guards,
    }


ABOUT = {
    "DISTRIBUTIONS": "Every distribution of the workspace.",
    "PLUGINS": "Every plugin: its distribution and its entry point.",
    "OWNERS": "Who brings each tool.",
    "ALIASES": "Former names of tools; rules and transcripts still use them.",
    "HOOKS": "Who specifies each hook that is not the core's.",
    "NAMESPACES": "Who declares the settings with this name or in this group.",
    "GUARDS": "Settings that promise protection, and the plugins that keep the promise.",
}


def text() -> str:
    """The whole file, with as many names in a line as fit."""
    parts = [HEAD]
    for name, table in tables().items():
        value = dict(sorted(table.items())) if isinstance(table, dict) else table
        opening, closing = ("frozenset([", "])") if "frozenset" in name else ("{", "}")
        rows = packed([f"{key!r}: {value[key]!r}" for key in value] if isinstance(value, dict) else map(repr, value))
        body = "".join(f"    {row}\n" for row in rows)
        about = ABOUT[name.partition(":")[0]]
        parts.append(f'\n{name} = {opening}\n{body}{closing}\n"""{about}"""\n')
    return "".join(parts)


def packed(items: Iterable[str]) -> list[str]:
    """The items with their commas, as many in a row as its width allows. No name has a space in it."""
    text = "".join(f"{item}, " for item in items).replace("'", '"')
    return wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def main() -> int:
    """Write the file, or with `--check` compare it."""
    made = text()
    if "--check" not in sys.argv:
        TARGET.write_text(made, "utf-8")
        return 0
    if TARGET.read_text("utf-8") == made:
        return 0
    sys.stderr.write(f"{TARGET.relative_to(WORKSPACE)} is out of date. Run python core/reserve_names.py.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
