"""Hand the hooks and MCP servers of plugins on disk to whoever reads such settings, as layers of the settings."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from pegboard import Settings
from pegboard.settings import Layer
from pegboard_definitions.plugin_folders import KEY, PluginFolder, plugin_folders, rooted

VARIABLE = "CLAUDE_PLUGIN_ROOT"
HOOKS, SERVERS = "hooks", "mcpServers"


def with_plugins(settings: Settings) -> Settings:
    """The settings with what the plugins of `pluginDirs` bring, each as strong as the layer that names the plugin.

    Hooks and servers find their plugin in `CLAUDE_PLUGIN_ROOT`. Servers are called `plugin_<plugin>_<server>`. Where
    managed settings keep hooks or servers to themselves, plugins bring none.
    """
    if KEY not in settings.keys or not settings.holders(KEY):
        return settings
    reserved = {key for reserving, key in settings.keys.reserving.items() if settings.get(reserving, False) is True}
    layers = [layer for plugin in plugin_folders(settings) if (layer := _layer(plugin, settings, reserved))]
    return settings.with_layers([*settings.layers, *layers]) if layers else settings


def _layer(plugin: PluginFolder, settings: Settings, reserved: set[str]) -> Layer | None:
    brought = {HOOKS: _hooks(plugin), SERVERS: _servers(plugin)}
    values = {key: found for key, found in brought.items() if found and key in settings.keys and key not in reserved}
    if not values:
        return None
    return Layer(plugin.layer, plugin.root, values)


def _hooks(plugin: PluginFolder) -> dict[str, Any]:
    return {event: _told(groups, plugin.root) for event, groups in plugin.hooks.items() if isinstance(groups, list)}


def _told(value: Any, root: str) -> Any:
    """Hooks whose commands know where their plugin is."""
    if isinstance(value, list):
        return [_told(item, root) for item in value]
    if not isinstance(value, Mapping):
        return value
    if not isinstance(value.get("command"), str):
        return {name: _told(item, root) for name, item in value.items()}
    if isinstance(value.get("args"), list):
        words = rooted([value["command"], *value["args"]], root)
        return {**value, "command": "env", "args": [f"{VARIABLE}={root}", *words]}
    if value.get("shell") == "powershell":
        return rooted(dict(value), root)
    return {**value, "command": f"export {VARIABLE}={shlex.quote(root)}; {value['command']}"}


def _servers(plugin: PluginFolder) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, server in plugin.mcp_servers.items():
        given = rooted(server, plugin.root)
        if isinstance(given, dict) and "command" in given:
            env = given.get("env")
            given = {**given, "env": {VARIABLE: plugin.root, **(env if isinstance(env, dict) else {})}}
        made[f"plugin_{plugin.name}_{name}"] = given
    return made
