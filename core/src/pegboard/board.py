"""The board: plugins hung up, hooks bound, a pool of tools, and one door for calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any

import pluggy
from anyio import Lock, to_thread

from pegboard.calls import JSON, Block, Call, Result
from pegboard.context import Context, Services
from pegboard.contract import Tool
from pegboard.errors import PluginError, PolicyError, ToolError
from pegboard.execution.bound import BoundHooks, settled
from pegboard.execution.dispatch import Ready, Seat, dispatch, runner
from pegboard.execution.limits import turn_options
from pegboard.execution.nested import dispatch_nested
from pegboard.execution.scheduler import run_calls
from pegboard.extensions import AgentDefinition, Profile, Provider
from pegboard.hookspecs import Hooks
from pegboard.host.environment import scrubbed
from pegboard.host.files import LocalFiles
from pegboard.host.processes import LocalProcesses
from pegboard.host.results import RETENTION_DAYS, ResultsStore, text_size
from pegboard.nearest import nearest
from pegboard.permission.compiled import Compiled
from pegboard.permission.lint import problems
from pegboard.plugins import index
from pegboard.plugins.builtin import is_builtin, normalise
from pegboard.plugins.features import Features
from pegboard.plugins.loader import Loaded, check_hooks, load_plugin
from pegboard.plugins.scan import refused
from pegboard.pool.assembly import assemble
from pegboard.pool.definitions import edited
from pegboard.pool.entries import Entry, Pool
from pegboard.pool.sources import Given, Sources, offered_sources
from pegboard.services import ProcessSpec
from pegboard.settings import Settings
from pegboard.settings import load as load_settings
from pegboard.settings.places import state_dir

TOOLS_ONLY = {"register_tools"}
LARGE = 1_000_000
"""Text beyond this many characters is saved in a thread, so that nobody waits for the disk."""


class Board:
    """All tools of one host. Build it once with `Board.load()`; its plugins are then fixed, its pool may refresh."""

    def __init__(
        self,
        settings: Settings,
        found: list[dict[str, Any]],
        *,
        plugins: Iterable[object] = (),
        tools: Sequence[Tool[Any, Any]] = (),
        env: Mapping[str, str] | None = None,
        services: Services | None = None,
    ) -> None:
        self.settings, self.env = settings, os.environ if env is None else env
        self._services = services
        self._found = found
        self._loaded: dict[str, Loaded] = {}
        self._ready: dict[str, Ready] = {}
        self._manager = pluggy.PluginManager("pegboard")
        self._manager.add_hookspecs(Hooks)
        self._ranks: dict[str, tuple[Any, ...]] = {}
        for plugin in self._enabled():
            if not set(plugin["scan"]["hooks"]) <= TOOLS_ONLY:
                self._hang(plugin)
        for number, given in enumerate(plugins):
            check_hooks(given)
            self._register(given, f"application:{number}", (2, "", str(number)))
        self.hooks = BoundHooks(self._manager, lambda name: self._ranks[name])
        own = [tool for register in self._application_tools() for tool in register()]
        sources, self._refused_sources = offered_sources(self.hooks.named("tool_sources"), settings)
        self._sources = Sources([Given("application", [*tools, *own]), *sources])
        self.pool = Pool([])
        self.refresh()

    @cached_property
    def services(self) -> Services:
        """The services of this machine, unless the application brought its own."""
        variables = self.settings.get("env")
        env = {**scrubbed(os.environ), **variables} if variables else None
        return self._services or Services(files=LocalFiles(state_dir(self.env)), processes=LocalProcesses(env=env))

    @cached_property
    def results(self) -> ResultsStore:
        """Where results go that are too long for a conversation."""
        days = self.settings.get("resultRetentionDays", RETENTION_DAYS)
        return ResultsStore.for_session(self.env, token_hex(8), retention_days=days)

    @classmethod
    def load(
        cls,
        *,
        cwd: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        plugins: Iterable[object] = (),
        tools: Sequence[Tool[Any, Any]] = (),
        env: Mapping[str, str] | None = None,
        services: Services | None = None,
    ) -> Board:
        """A board with everything that is installed and switched on.

        `plugins` are further objects with hooks, `tools` further tools; both belong to this board only.
        Raises `SettingsError` for settings that cannot be used and `PolicyError` for a guard that cannot be loaded.
        """
        settings = settings or load_settings(cwd, env)
        settings.require_sound()
        features = Features(settings)
        found = index.load(lambda plugin: features.off(plugin) is None, env)["plugins"]
        return cls(settings, found, plugins=plugins, tools=tools, env=env, services=services)

    def context(self, **changes: Any) -> Context:
        """A context for calls in this board's working directory."""
        base = Context(Path(self.settings.cwd), self.settings, services=self.services, gate=self.nested)
        return replace(base, **changes)

    async def dispatch(self, call: Call, ctx: Context | None = None, seat: Seat | None = None) -> Result:
        """Handle one call through the whole pipeline. Every call gets a result; nothing a model does raises."""
        return await dispatch(call, ctx or self.context(), self, seat)

    async def nested(self, name: str, input: JSON, ctx: Context) -> Result:
        """Handle a call that a tool makes: what `ctx.call` leads to."""
        return await dispatch_nested(name, input, ctx, self, self.nested_lock)

    async def run(self, calls: Iterable[Call], ctx: Context | None = None) -> list[Result]:
        """Handle the calls of one turn: as if one after another, neighbours that are safe at the same time.

        The results come in the order of the calls.
        """
        results, _ = await run_calls(self, calls, ctx or self.context(), **turn_options(self.settings))
        return results

    def find(self, name: str) -> Ready:
        """The tool behind a name, imported on first use; a `ToolError` says why there is none."""
        ready = self._ready.get(name)
        if ready is None:
            entry = self.pool.get(name)
            if entry is None:
                raise ToolError(self._no_such_tool(name), code="not_found")
            tool = self._tool(entry)
            ready = self._ready[name] = Ready(tool, entry.dist, runner(tool, self.hooks.wrap_execute))
        return ready

    def equip(self, ctx: Context) -> Context:
        """The context with every `wrap_process` around the processes that a call starts."""
        processes = ctx.services.processes
        if not self.hooks.wrap_process or processes is None:
            return ctx

        async def wrap(spec: ProcessSpec) -> ProcessSpec:
            for hook in self.hooks.wrap_process:
                spec = await settled(hook(spec, ctx)) or spec
            return spec

        return replace(ctx, services=replace(ctx.services, processes=processes.wrapped_by(wrap)))

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """The content within the tool's limit; what is too long is saved whole and shown as a preview."""
        size, limit = text_size(blocks), tool.max_result_chars
        if limit is None or size <= limit:
            return blocks
        if size < LARGE:
            return self.results.fit(blocks, limit, tool.name, call.id)
        return await to_thread.run_sync(self.results.fit, blocks, limit, tool.name, call.id)

    def refresh(self) -> Pool:
        """Ask changed sources again and rebuild the pool if anything moved; a failing source keeps its last tools."""
        if not self._sources.poll(self.hooks.emit) and self.pool.version:
            return self.pool
        before = {entry.name: entry.definition for entry in self.pool.entries}
        self.pool = assemble(
            self._found,
            self.settings,
            dynamic=self._sources.records(),
            is_enabled=self._disabled_itself,
            env=self.env,
            version=self.pool.version + 1,
        )
        self.pool.notices += self._refused_sources
        self.pool.notices += problems(Compiled.of(self.settings), self.pool.known_names)
        if self.settings.get("strict", False):
            require_binaries(self.pool)
        self._ready.clear()
        after = {entry.name: entry.definition for entry in self.pool.entries}
        if self.pool.version > 1 and before != after:
            self.hooks.emit(
                "tools_updated",
                version=self.pool.version,
                added=sorted(after.keys() - before.keys()),
                removed=sorted(before.keys() - after.keys()),
                changed=sorted(name for name in before.keys() & after.keys() if before[name] != after[name]),
            )
        return self.pool

    def definitions(self, profile: Profile | None = None, loaded: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
        """What a request for this model lists, after every `edit_definition`."""
        return edited(self.pool, self.hooks.edit_definition, profile or Profile(), loaded)

    @cached_property
    def nested_lock(self) -> Lock:
        """What keeps calls apart that tools make and that are not safe beside others."""
        return Lock()

    @property
    def plugins(self) -> list[dict[str, Any]]:
        """Every plugin that was found, with its state, as plain data."""
        return self._found

    def providers(self) -> dict[str, Provider]:
        """The models that plugins bring, by name."""
        return {
            provider.name: provider
            for register in self.hooks.register_providers
            for provider in register(self.settings)
        }

    def agents(self) -> dict[str, AgentDefinition]:
        """The kinds of sub-agents that plugins bring, by name."""
        return {agent.name: agent for register in self.hooks.register_agents for agent in register()}

    def find_agents(self) -> dict[str, AgentDefinition]:
        """Every kind of agent there is, by name: those of plugins, and those that somebody has written down."""
        found = self.agents()
        for find in reversed(self.hooks.find_agents):
            found |= find(self.settings, found)
        return found

    def _enabled(self) -> list[dict[str, Any]]:
        features = Features(self.settings)
        enabled = [plugin for plugin in self._found if features.off(plugin) is None]
        check_guards(enabled, strict=bool(self.settings.get("strict", False)))
        return [plugin for plugin in enabled if plugin["scan"] and plugin["scan"]["state"] == "active"]

    def _load(self, plugin: dict[str, Any]) -> Loaded:
        if plugin["id"] not in self._loaded:
            try:
                self._loaded[plugin["id"]] = load_plugin(plugin)
            except PluginError as error:
                index.drop(self.env)
                if plugin["family"] == "policy":
                    raise PolicyError(f"{plugin['id']}: {error}", kind=error.kind, traceback=error.traceback) from None
                raise
        return self._loaded[plugin["id"]]

    def _hang(self, plugin: dict[str, Any]) -> None:
        try:
            loaded = self._load(plugin)
        except PluginError as error:
            if isinstance(error, PolicyError) or self.settings.get("strict", False):
                raise
            plugin["scan"] = refused(error.kind, str(error), error.traceback)  # It was well when the index was made.
            return
        rank = (not is_builtin(loaded.dist, loaded.entry), normalise(loaded.dist), loaded.entry)
        self._register(loaded.plugin, loaded.id, rank)

    def _register(self, plugin: object, name: str, rank: tuple[Any, ...]) -> None:
        self._ranks[name] = rank
        self._manager.register(plugin, name=name)

    def _application_tools(self) -> list[Any]:
        """`register_tools` of the objects an application handed in; those of installed plugins are in the index."""
        return [
            impl.function
            for impl in self._manager.hook.register_tools.get_hookimpls()
            if impl.plugin_name.startswith("application:")
        ]

    def _tool(self, entry: Entry) -> Tool[Any, Any]:
        given = self._sources.tool(entry)
        if given is not None:
            return given
        plugin = next(p for p in self._found if p["dist"] == entry.dist and p["entry"] == entry.entry)
        try:
            loaded = self._load(plugin)
        except PluginError as error:
            raise ToolError(f"{entry.name} cannot be loaded: {error}", code="internal") from None
        for tool in loaded.tools:
            if tool.name == entry.name:
                if tool.definition_bytes != entry.definition:
                    index.drop(self.env)  # It was described by an older self; the next process describes it anew.
                return tool
        raise ToolError(f"{entry.dist} no longer brings {entry.name}.", code="internal")

    def _disabled_itself(self, entry: Entry) -> str | None:
        try:
            with redirect_stdout(sys.stderr):  # Standard output may be somebody's JSON.
                enabled = self._tool(entry).is_enabled()
        except (Exception, SystemExit) as error:
            return f"{entry.name} cannot say whether it is enabled: {type(error).__name__}: {error}"
        return None if enabled else f"{entry.name} says that it cannot be used here."

    def _no_such_tool(self, name: str) -> str:
        gone = [absent for absent in self.pool.absent if absent.name == name]
        if gone:
            return f"The tool {name} is not available. {gone[0].reason}"
        close = nearest(name, self.pool.names, limit=3)
        hint = f" Did you mean {', '.join(close)}?" if close else ""
        return f"There is no tool named {name!r}.{hint}"


def require_binaries(pool: Pool) -> None:
    """In strict mode a tool that lacks a program stops everything too."""
    for gone in pool.absent:
        if gone.layer == "missing-binary":
            raise PluginError(gone.reason, kind=gone.layer)


def check_guards(plugins: Iterable[dict[str, Any]], *, strict: bool) -> None:
    """A guard that cannot be loaded stops everything; in strict mode any plugin does."""
    for plugin in plugins:
        scanned = plugin["scan"]
        if scanned and scanned["state"] == "quarantined" and (strict or plugin["family"] == "policy"):
            kind = PolicyError if plugin["family"] == "policy" else PluginError
            raise kind(f"{plugin['id']}: {scanned['reason']}", kind=scanned["kind"], traceback=scanned["traceback"])
