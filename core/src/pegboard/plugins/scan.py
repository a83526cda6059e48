"""The slow way, once: read entry points, import each plugin that is switched on, write down what it offers."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.metadata import Distribution, distributions
from typing import Any
from urllib.parse import unquote, urlsplit

from pegboard.contract import API
from pegboard.errors import PluginError
from pegboard.plugins.builtin import is_builtin, normalise
from pegboard.plugins.loader import load_plugin

GROUP = "pegboard"
API_GROUP = "pegboard.requires_api"
COMMANDS = "pegboard.commands"
ENTRY = re.compile(r"[a-z][a-z0-9_-]*\.[A-Za-z0-9_.-]+")


def discover(places: list[str]) -> dict[str, Any]:
    """Every plugin and command that is installed, from metadata alone; nothing is imported."""
    plugins: list[dict[str, Any]] = []
    commands: list[dict[str, str]] = []
    seen: set[str] = set()
    for dist in distributions(path=places):
        try:
            entries = dist.entry_points
        except Exception as error:  # somebody's damaged file must not take the rest down
            plugins += _damaged(dist, error)
            continue
        mine = [entry for entry in entries if entry.group in (GROUP, COMMANDS)]
        if not mine:
            continue
        try:
            name, version = dist.metadata["Name"], dist.version
            record, editable = dist.read_text("RECORD") or "", _editable_root(dist)
            if not name:
                raise ValueError("METADATA names no distribution")
        except Exception as error:
            plugins += _damaged(dist, error)
            continue
        if normalise(name) in seen:
            continue
        seen.add(normalise(name))
        basis = {"version": version or "", "record": record, "editable": editable, "root": _root(dist)}
        wanted_api = {entry.value: entry.name for entry in entries if entry.group == API_GROUP}
        for entry in mine:
            if entry.group == COMMANDS:
                commands.append({"name": entry.name, "dist": name, "value": entry.value})
            else:
                plugins.append(_describe(name, entry.name, entry.value, wanted_api.get(entry.value, ""), **basis))
    plugins.sort(key=lambda p: (not is_builtin(p["dist"], p["entry"]), normalise(p["dist"]), p["entry"]))
    _refuse_by_metadata(plugins)
    return {"plugins": plugins, "commands": sorted(commands, key=lambda c: (c["name"], c["dist"]))}


def _damaged(dist: Distribution, error: Exception) -> list[dict[str, Any]]:
    """A plugin whose metadata cannot be read; a distribution that is none of ours is passed over."""
    folder = str(getattr(dist, "_path", ""))
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb") as file:
            ours = b"[pegboard" in file.read()
    except OSError:
        return []
    name = os.path.basename(folder).partition("-")[0]
    if not ours or not name:
        return []
    found = _describe(name, "", "", "", root=_root(dist))
    reason = f"The metadata in {folder} cannot be read: {type(error).__name__}: {error}. Reinstall {name}."
    found["scan"] = refused("bad-metadata", reason)
    return [found]


def _describe(
    name: str, entry: str, value: str, api: str, *, root: str, version: str = "", record: str = "", editable: str = ""
) -> dict[str, Any]:
    return {
        "id": f"{name}:{entry}",
        "dist": name,
        "version": version,
        "entry": entry,
        "family": entry.partition(".")[0],
        "value": value,
        "api": api,
        "root": root,
        "editable": editable,
        "record": record,
        "scan": None,
    }


def _root(dist: Distribution) -> str:
    return os.path.abspath(str(dist.locate_file("")))


def _editable_root(dist: Distribution) -> str:
    """The project folder of an editable install, or nothing."""
    try:
        origin = json.loads(dist.read_text("direct_url.json") or "{}")
    except ValueError:
        return ""
    try:
        is_editable, url = origin["dir_info"]["editable"], origin["url"]
    except (TypeError, KeyError):
        return ""
    return os.path.realpath(unquote(urlsplit(url).path)) if is_editable else ""


def _refuse_by_metadata(plugins: list[dict[str, Any]]) -> None:
    """What can be told without importing: a name without a family, the wrong API, an entry that two claim."""
    first: dict[str, dict[str, Any]] = {}
    for plugin in plugins:
        entry, claimed = plugin["entry"], first.setdefault(plugin["entry"], plugin)
        record, plugin["record"] = plugin["record"], ""
        if plugin["scan"]:
            continue
        if not ENTRY.fullmatch(entry):
            reason = f"The entry point {entry!r} has no family. Name it family.plugin, such as files.{entry or 'read'}."
            plugin["scan"] = refused("no-family", reason)
        elif not api_fits(plugin["api"]):
            offered = ".".join(map(str, API))
            reason = f"It was written for the tool API {plugin['api']}; this is {offered}. Install a matching version."
            plugin["scan"] = refused("wrong-api", reason)
        elif claimed is not plugin:
            reason = (
                f"{claimed['dist']} and {plugin['dist']} both bring the plugin {entry!r}; the first is kept. "
                f"Uninstall one of the two."
            )
            plugin["scan"] = refused("duplicate-entry", reason)
        else:
            plugin["record"] = record


def api_fits(wanted: str) -> bool:
    """`1.0` asks for this major version and at least this minor one; nothing said is taken as 1.0."""
    found = re.fullmatch(r"(\d+)\.(\d+)", wanted or "1.0")
    return bool(found) and int(found[1]) == API[0] and int(found[2]) <= API[1] if found else False


def refused(kind: str, reason: str, traceback: str = "", files: list[str] | None = None) -> dict[str, Any]:
    """The record of a plugin that is in quarantine."""
    return {
        "state": "quarantined",
        "kind": kind,
        "reason": reason,
        "traceback": traceback,
        "hooks": [],
        "tools": [],
        "printed": "",
        "ms": 0.0,
        "origin": "",
        "files": files or [],
    }


def scan(plugin: dict[str, Any]) -> dict[str, Any]:
    """Import a plugin and write down what it offers, or why it cannot be used."""
    try:
        loaded = load_plugin(plugin)
        tools = [describe_tool(tool) for tool in loaded.tools]
    except PluginError as error:
        return refused(error.kind, str(error), error.traceback, _source_files(plugin))
    finally:
        plugin["record"] = ""
    return {
        "state": "active",
        "kind": "",
        "reason": "",
        "traceback": "",
        "hooks": loaded.hooks,
        "tools": tools,
        "printed": loaded.printed,
        "ms": loaded.ms,
        "origin": loaded.origin,
        "files": _source_files(plugin) if plugin["editable"] else [],
    }


def describe_tool(tool: Any) -> dict[str, Any]:
    """What listings and the pool need of a tool, as plain data: the index can keep no subclass of `str` or `int`."""
    from pegboard.contract import Tool

    return {
        "name": str(tool.name),
        "aliases": [str(alias) for alias in tool.aliases],
        "hint": str(tool.search_hint),
        "guidance": str(tool.guidance),
        "definition": tool.definition_bytes,
        "read_only": tool.read_only,
        "concurrency_safe": tool.concurrency_safe,
        "open_world": tool.open_world,
        "destructive": tool.destructive,
        "max_result_chars": None if tool.max_result_chars is None else int(tool.max_result_chars),
        "requires_binaries": [str(binary) for binary in tool.requires_binaries],
        "platforms": [str(platform) for platform in tool.platforms],
        "dynamic": type(tool).is_enabled is not Tool.is_enabled,
    }


def _source_files(plugin: dict[str, Any]) -> list[str]:
    """The source files of a plugin that may change in place: an edit in an editable checkout is seen at once."""
    name = plugin["value"].partition(":")[0].strip()
    module = sys.modules.get(name)
    places = list(getattr(module, "__path__", ())) or _places_on_disk(plugin, name)
    files = [getattr(module, "__file__", "") or ""]
    for place in places:
        for folder, _, names in os.walk(place):
            if os.path.basename(folder) == "__pycache__":
                continue  # Any process may write there; it says nothing about the source.
            files += [folder, *(os.path.join(folder, n) for n in names if n.endswith(".py"))]
    return sorted({file for file in files if file})


def _places_on_disk(plugin: dict[str, Any], name: str) -> list[str]:
    """Where a plugin that failed to import would be, without importing it."""
    relative = name.replace(".", os.sep)
    bases = [plugin["root"], plugin["editable"], os.path.join(plugin["editable"], "src")]
    found = [os.path.join(base, relative) for base in bases if base]
    return [path for path in found if os.path.isdir(path)] + [
        f"{path}.py" for path in found if os.path.isfile(f"{path}.py")
    ]
