"""What is installed, from metadata and declarations alone: plugins, commands, settings, specifications of hooks."""

from __future__ import annotations

import json
import os
import re
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distributions
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from pegboard.contract import API
from pegboard.errors import PluginError
from pegboard.plugins.builtin import is_builtin, is_own, normalise
from pegboard.plugins.declarations import declaration_file, read_declaration
from pegboard.plugins.hook_checks import read_hooks, specification_file
from pegboard.plugins.loader import working_directory_off_the_path
from pegboard.plugins.scan import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard.records import CommandRecord, Declared, Discovery, PluginRecord

GROUP = "pegboard"
API_GROUP = "pegboard.requires_api"
COMMANDS = "pegboard.commands"
SETTINGS = "pegboard.settings"
HOOKS = "pegboard.hookspecs"
ENTRY = re.compile(r"[a-z][a-z0-9_-]*\.[A-Za-z0-9_.-]+")


class _Installed:
    """A distribution with entry points of ours. Making one raises whatever its metadata raises."""

    def __init__(self, dist: Distribution, entries: EntryPoints) -> None:
        self.name, self.version, self.root = dist.metadata["Name"], dist.version or "", _root(dist)
        self.record, self.editable = dist.read_text("RECORD") or "", _editable_root(dist)
        if not self.name:
            raise ValueError("METADATA names no distribution")
        self.entries = entries
        api = {entry.value: entry.name for entry in entries.select(group=API_GROUP)}
        self.plugins = [self._describe(entry, _api_for(entry.value, api)) for entry in entries.select(group=GROUP)]

    def _describe(self, entry: EntryPoint, api: str) -> PluginRecord:
        plugin = _unread(self.name, self.root, entry.name)
        plugin["version"], plugin["value"], plugin["api"] = self.version, entry.value, api
        plugin["editable"], plugin["record"] = self.editable, self.record
        return plugin

    @property
    def commands(self) -> list[CommandRecord]:
        """What it adds to the command line."""
        found = self.entries.select(group=COMMANDS)
        return [{"name": entry.name, "dist": self.name, "value": entry.value} for entry in found]

    def declare(self, declared: Declared) -> None:
        """Add its settings and hooks. One whose declaration cannot be used is in quarantine with its plugins."""
        try:
            for path, _ in self._files(SETTINGS, declaration_file, declared):
                entries = [plugin["entry"] for plugin in self.plugins]
                settings, not_used = read_declaration(path, self.name, entries, own=is_own(self.name))
                declared["settings"] |= settings
                declared["not_used"] |= not_used
            for path, value in self._files(HOOKS, specification_file, declared):
                declared["hooks"] |= read_hooks(path, value, self.name, declared["hooks"])
        except PluginError as error:
            declared["faults"].append((self.name, str(error)))
            for plugin in self.plugins:
                plugin["scan"] = refused(error.kind, str(error))

    def _files(
        self, group: str, find: Callable[[str, Sequence[str]], str], declared: Declared
    ) -> list[tuple[str, str]]:
        """Each file that a group names, with the value that names it. Those of an editable project are watched."""
        places = [self.root, self.editable, os.path.join(self.editable, "src")]
        values = dict.fromkeys(entry.value for entry in self.entries.select(group=group))
        with working_directory_off_the_path(self.editable):
            found = [(find(value, [place for place in places if os.path.isabs(place)]), value) for value in values]
        if self.editable:
            declared["files"] += [path for path, _ in found]
        return found


def discover(places: list[str]) -> Discovery:
    """Every plugin, command, setting and hook that is installed; nothing is imported."""
    plugins: list[PluginRecord] = []
    found: dict[str, _Installed] = {}
    for dist in distributions(path=places):
        try:
            entries = dist.entry_points
            if any(entry.group in (GROUP, COMMANDS, SETTINGS, HOOKS) for entry in entries):
                installed = _Installed(dist, entries)
                found.setdefault(normalise(installed.name), installed)
        except Exception as error:  # One damaged file must not take the rest down.
            plugins += _damaged(dist, error)
    declared: Declared = {"settings": {}, "not_used": {}, "hooks": {}, "faults": [], "files": []}
    for _, installed in sorted(found.items(), key=lambda item: (not is_own(item[0]), item[0])):
        installed.declare(declared)
        plugins += installed.plugins
    plugins.sort(key=lambda p: (not is_builtin(p["dist"], p["entry"]), normalise(p["dist"]), p["entry"]))
    _refuse_by_metadata(plugins)
    declared["settings"] = dict(sorted(declared["settings"].items(), key=lambda item: item[0].lower()))
    commands = [command for installed in found.values() for command in installed.commands]
    commands.sort(key=lambda command: (command["name"], command["dist"]))
    return {"plugins": plugins, "commands": commands, "declared": declared}


def _api_for(value: str, wanted: dict[str, str]) -> str:
    """The API that a plugin was written for. One declaration is for the whole distribution.

    Two plugins cannot both say "1.0": the version is the key in pyproject.toml, and a key stands there once.
    """
    return next(iter(wanted.values())) if len(wanted) == 1 else wanted.get(value, "")


def _damaged(dist: Distribution, error: Exception) -> list[PluginRecord]:
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
    found = _unread(name, _root(dist), "")
    reason = f"The metadata in {folder} cannot be read: {type(error).__name__}: {error}. Reinstall {name}."
    found["scan"] = refused("bad-metadata", reason)
    return [found]


def _unread(name: str, root: str, entry: str) -> PluginRecord:
    """A plugin of which only the name is known yet."""
    ours = {"id": f"{name}:{entry}", "dist": name, "entry": entry, "family": entry.partition(".")[0], "root": root}
    return {**ours, **dict.fromkeys(("version", "value", "api", "editable", "record"), ""), "scan": None}  # type: ignore[typeddict-item]


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


def _refuse_by_metadata(plugins: list[PluginRecord]) -> None:
    """What can be told without importing: a name without a family, the wrong API, an entry that two claim."""
    first: dict[str, PluginRecord] = {}
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
                f"{claimed['dist']} and {plugin['dist']} both define the plugin {entry!r}; the first is kept. "
                f"Uninstall one of the two."
            )
            plugin["scan"] = refused("duplicate-entry", reason)
        else:
            plugin["record"] = record


def api_fits(wanted: str) -> bool:
    """`1.0` asks for this major version and at least this minor one; nothing said is taken as 1.0."""
    found = re.fullmatch(r"(\d+)\.(\d+)", wanted or "1.0")
    return bool(found) and int(found[1]) == API[0] and int(found[2]) <= API[1] if found else False
