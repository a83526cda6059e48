"""Claude Code plugins on disk: a folder with `.claude-plugin/plugin.json`, and what is in it.

`plugin_folders(settings)` are the folders that the setting `pluginDirs` names; `--plugin-dir` is a layer of it. Each
part of Pegboard takes what it understands: skills and commands, agents, hooks, MCP servers.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pegboard import Settings

KEY = "pluginDirs"
MANIFEST = ".claude-plugin/plugin.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
LARGEST = 1_000_000
ROOT = re.compile(r"\$\{CLAUDE_PLUGIN_ROOT\}")
LISTS = ("skills", "commands", "agents")


@dataclass(frozen=True, slots=True)
class PluginFolder:
    """One plugin. Its names are put before those of what it brings: `plugin:name`."""

    name: str
    root: str
    skills: tuple[str, ...] = ()
    """Folders with skills, or of one skill."""
    commands: tuple[str, ...] = ()
    """Folders with commands, or files of one."""
    agents: tuple[str, ...] = ()
    """Folders with agents, or files of one."""
    hooks: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Hooks by event, as in a settings file."""
    mcp_servers: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """MCP servers by name, as in `.mcp.json`."""
    source: str = ""
    """The setting or option that names the folder."""
    layer: str = "user"
    """The layer of settings that it is in."""
    problems: tuple[str, ...] = ()


def plugin_folders(settings: Settings) -> list[PluginFolder]:
    """The plugins that settings name, each name once; one that cannot be read brings nothing but its problems."""
    found: dict[str, PluginFolder] = {}
    if KEY not in settings.keys:
        return []
    for given, layer in settings.items(KEY):
        folder = os.path.normpath(os.path.join(settings.root, os.path.expanduser(given)))
        plugin = replace(_read(folder, layer.source_of(KEY), _stamp(folder)), layer=layer.name)
        known = found.get(plugin.name)
        if known is not None and known.root != plugin.root:
            said = f"{folder}: The plugin {plugin.name} is not used: {known.root} has the same name."
            plugin = PluginFolder(f"{plugin.name} in {folder}", folder, source=plugin.source, problems=(said,))
        found.setdefault(plugin.name, plugin)
    return list(found.values())


def _stamp(folder: str) -> tuple[int, ...]:
    """What changes with the files that are read here."""
    times: list[int] = []
    for name in (MANIFEST, "hooks/hooks.json", ".mcp.json", "."):
        try:
            times.append(os.stat(os.path.join(folder, name)).st_mtime_ns)
        except OSError:
            times.append(0)
    return tuple(times)


@lru_cache(maxsize=100)
def _read(folder: str, source: str, stamp: tuple[int, ...]) -> PluginFolder:
    problems: list[str] = []
    if not os.path.isdir(folder):
        said = f"{source}: There is no folder {folder}. Correct {KEY} or --plugin-dir."
        return PluginFolder(f"({folder})", folder, source=source, problems=(said,))
    manifest = _object(folder, MANIFEST, problems)
    name = manifest.get("name") or os.path.basename(folder)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        said = f"{os.path.join(folder, MANIFEST)}: name must be 1 to 64 letters, digits, dots, _ and -, got {name!r}."
        return PluginFolder(f"({folder})", folder, source=source, problems=(*problems, said))
    skills, commands, agents = (tuple(_paths(folder, manifest, key, problems)) for key in LISTS)
    return PluginFolder(
        name,
        folder,
        skills,
        commands,
        agents,
        hooks=_contents(folder, manifest, "hooks", "hooks/hooks.json", problems),
        mcp_servers=_contents(folder, manifest, "mcpServers", ".mcp.json", problems),
        source=source,
        problems=tuple(problems),
    )


def _paths(folder: str, manifest: Mapping[str, Any], key: str, problems: list[str]) -> list[str]:
    """The usual folder and those that the manifest adds; all must be in the plugin."""
    given = manifest.get(key, [])
    wanted = [given] if isinstance(given, str) else given
    if not isinstance(wanted, list) or not all(isinstance(path, str) for path in wanted):
        problems.append(f"{os.path.join(folder, MANIFEST)}: {key} must be a path or a list of paths, got {given!r}.")
        wanted = []
    found = [os.path.join(folder, key)] if os.path.isdir(os.path.join(folder, key)) else []
    for path in wanted:
        place = _inside(folder, path, key, problems)
        if place and place not in found:
            found.append(place)
    return found


def _inside(folder: str, path: str, key: str, problems: list[str]) -> str | None:
    place = os.path.normpath(os.path.join(folder, ROOT.sub(lambda _: folder, path)))
    real, root = os.path.realpath(place), os.path.realpath(folder)
    manifest = os.path.join(folder, MANIFEST)
    if real != root and not real.startswith(os.path.join(root, "")):
        problems.append(f"{manifest}: {key}: {path} is outside the plugin, so it is not used.")
        return None
    if not os.path.exists(place):
        problems.append(f"{manifest}: {key}: there is no {path}.")
        return None
    return place


def _contents(folder: str, manifest: Mapping[str, Any], key: str, usual: str, problems: list[str]) -> Mapping[str, Any]:
    """Hooks or servers: those of the manifest, or of the file that it names, or of the usual file."""
    given = manifest.get(key)
    if isinstance(given, str):
        place = _inside(folder, given, key, problems)
        given = _object(folder, os.path.relpath(place, folder), problems) if place else {}
    elif given is None:
        given = _object(folder, usual, problems)
    if not isinstance(given, dict):
        problems.append(f"{os.path.join(folder, MANIFEST)}: {key} must be a path or an object, got {given!r}.")
        return {}
    inner = given.get(key, given)  # Files have the whole object, with the key around it.
    if not isinstance(inner, dict):
        problems.append(f"{os.path.join(folder, usual)}: {key} must be an object, got {inner!r}.")
        return {}
    return {name: value for name, value in inner.items() if name != "description"}


def rooted(value: Any, folder: str) -> Any:
    """A value with the plugin's folder in place of `${CLAUDE_PLUGIN_ROOT}`, wherever it stands."""
    if isinstance(value, str):
        return ROOT.sub(lambda _: folder, value)
    if isinstance(value, list):
        return [rooted(item, folder) for item in value]
    if isinstance(value, dict):
        return {name: rooted(item, folder) for name, item in value.items()}
    return value


def _object(folder: str, name: str, problems: list[str]) -> dict[str, Any]:
    """A JSON file with an object; empty where there is none."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return {}
    try:
        with open(path, "rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise ValueError(f"it is larger than {LARGEST} bytes")
        data = json.loads(raw)
        if not isinstance(data, dict):
            raise ValueError("expected an object")
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{path}: The file is not used: {error}.")
        return {}
    return data
