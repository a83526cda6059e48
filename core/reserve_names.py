"""Write the names that Pegboard's own plugins reserve: tools, plugins, hooks, groups of settings, guards.

Run `python core/reserve_names.py` after a plugin was added to the workspace, a tool renamed or a setting declared.
With `--check` it fails where the file is out of date. The file is part of the core's wheel.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pegboard.plugins import index
from pegboard.plugins.builtin import normalise
from pegboard.plugins.declarations import FILE, read_declaration
from pegboard.plugins.discovery import discover
from pegboard.plugins.hook_checks import read_hooks
from pegboard.plugins.scan import scan

WORKSPACE = Path(__file__).parent.parent
TARGET = WORKSPACE / "core/src/pegboard/reserved.txt"
HEAD = "# The names of Pegboard's own tools, hooks and settings. Written by core/reserve_names.py; do not edit.\n"


def projects() -> dict[str, tuple[Path, dict[str, Any]]]:
    """Each distribution of the workspace with its folder and its entry points."""
    found = {}
    for file in sorted([WORKSPACE / "core/pyproject.toml", *WORKSPACE.glob("plugins/*/*/pyproject.toml")]):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        found[normalise(project["name"])] = (file.parent, project.get("entry-points", {}))
    return found


def tables() -> dict[str, Mapping[str, tuple[str, ...]]]:
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
    guards: dict[str, tuple[str, ...]] = {}
    for dist, (folder, points) in ours.items():
        for package in points.get("pegboard.settings", {}).values():
            path, entries = folder / "src" / package.replace(".", "/") / FILE, list(points.get("pegboard", ()))
            for name, record in read_declaration(str(path), dist, entries, own=True)[0].items():
                namespaces[name.partition(".")[0]] = dist
                if record.get("guard") and package != "pegboard":  # The core is always here.
                    marks = [mark for mark in ("repository", "compatible") if record.get(mark)]
                    guards[name] = (record["owner"], ",".join(record["plugins"]), *marks)
    return {
        "distribution": dict.fromkeys(ours, ()),
        "plugin": {entry: (dist,) for dist, entry in plugins},
        "tool": owners,
        "alias": {name: (tool,) for name, tool in aliases.items()},
        "hook": {name: (hook["owner"],) for name, hook in hooks.items()},
        "setting": {name: (dist,) for name, dist in namespaces.items()},
        "guard": guards,
    }


def text() -> str:
    """The whole file: a line for each name, with its kind before it and what belongs to it after it."""
    rows = [(kind, name, *more) for kind, table in tables().items() for name, more in sorted(table.items())]
    return HEAD + "".join(f"{' '.join(row)}\n" for row in rows)


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
