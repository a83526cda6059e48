"""The plugins of one board: those that are switched on and have hooks are loaded at once, the others on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

from pegboard.errors import PluginError, PolicyError, ToolError
from pegboard.execution.hooks import BoundHooks
from pegboard.plugins import index
from pegboard.plugins.builtin import is_builtin, normalise
from pegboard.plugins.features import Features
from pegboard.plugins.guards import require_guards
from pegboard.plugins.hook_checks import check_hooks, known_hooks
from pegboard.plugins.loader import Loaded, load_plugin
from pegboard.plugins.scan import refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard.contract import Tool
    from pegboard.pool.entries import Entry
    from pegboard.records import PluginRecord
    from pegboard.settings import Settings

TOOLS_ONLY = {"register_tools"}
APPLICATION = "application:"


class LoadedPlugins:
    """What was found, what of it is in memory, and the objects with hooks that an application brings (`given`)."""

    def __init__(
        self, found: list[PluginRecord], given: Sequence[object], settings: Settings, env: Mapping[str, str]
    ) -> None:
        self.found, self._settings, self._env = found, settings, env
        self._loaded: dict[tuple[str, bool], Loaded] = {}
        self._manager = pluggy.PluginManager("pegboard")
        self._ranks: dict[str, tuple[Any, ...]] = {}
        self._known_hooks = known_hooks(env)
        features = Features(settings)
        require_guards(features, found, given, strict=settings.get("strict"))
        for plugin in found:
            scanned = plugin["scan"] if features.off(plugin) is None else None
            if scanned and scanned["state"] == "active" and not set(scanned["hooks"]) <= TOOLS_ONLY:
                self._add_installed(plugin)
        for number, plugin_object in enumerate(given):
            self._add(plugin_object, f"{APPLICATION}{number}", (2, "", str(number)))

    def bind(self, *, record: bool) -> BoundHooks:
        """The hooks of all of them. With `record`, those that keep a log of decisions bring it as one more plugin."""
        hooks = BoundHooks(self._manager, self._ranks.__getitem__, self._known_hooks)
        if not record:
            return hooks
        opened = [(name, open_log(self._settings, self._env)) for name, open_log in hooks.named("record_decisions")]
        logs = [(name, log) for name, log in opened if log is not None]
        for name, log in logs:
            self._add(log, f"{name} (log)", (3, "", name))
        return BoundHooks(self._manager, self._ranks.__getitem__, self._known_hooks) if logs else hooks

    def tool(self, entry: Entry) -> Tool[Any, Any]:
        """A tool of an installed plugin, imported now if need be; a `ToolError` says why there is none."""
        plugin = next(p for p in self.found if p["dist"] == entry.dist and p["entry"] == entry.entry)
        try:
            loaded = self._load(plugin, with_tools=True)
        except PluginError as error:
            raise ToolError(f"{entry.name} cannot be loaded: {error}", code="internal") from None
        for tool in loaded.tools:
            if tool.name == entry.name:
                if tool.definition_bytes != entry.definition:
                    index.drop(self._env)  # It was described by an older self; the next process describes it anew.
                return tool
        raise ToolError(f"{entry.dist} no longer provides {entry.name}.", code="internal")

    def _load(self, plugin: PluginRecord, *, with_tools: bool = False) -> Loaded:
        """The plugin in memory. Building the schemas of its tools takes time that only their first call needs."""
        key = plugin["id"], with_tools
        if key not in self._loaded:
            try:
                self._loaded[key] = load_plugin(plugin, self._known_hooks, with_tools=with_tools)
            except PluginError as error:
                index.drop(self._env)
                if plugin["family"] == "policy":
                    raise PolicyError(f"{plugin['id']}: {error}", kind=error.kind, traceback=error.traceback) from None
                raise
        return self._loaded[key]

    def _add_installed(self, plugin: PluginRecord) -> None:
        try:
            loaded = self._load(plugin)
        except PluginError as error:
            if isinstance(error, PolicyError) or self._settings.get("strict"):
                raise
            plugin["scan"] = refused(error.kind, str(error), error.traceback)  # It was well when the index was made.
            return
        self._ranks[loaded.id] = (not is_builtin(loaded.dist, loaded.entry), normalise(loaded.dist), loaded.entry)
        self._manager.register(loaded.plugin, name=loaded.id)

    def _add(self, plugin: object, name: str, rank: tuple[Any, ...]) -> None:
        check_hooks(plugin, self._known_hooks)
        self._ranks[name] = rank
        self._manager.register(plugin, name=name)


def application_tools(hooks: BoundHooks) -> list[Tool[Any, Any]]:
    """The tools of the objects that an application brings; those of installed plugins are in the index."""
    registering = [register for name, register in hooks.named("register_tools") if name.startswith(APPLICATION)]
    return [tool for register in registering for tool in register()]
