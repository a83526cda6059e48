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
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import anyio
from anyio import Lock, to_thread
from anyio.lowlevel import current_token

from pegboard.calls import JSON, Block, Call, Result
from pegboard.content import cut, text_size
from pegboard.context import Context, PathFilter, Services
from pegboard.contract import Tool
from pegboard.errors import PluginError, ToolError, refuse_unknown
from pegboard.execution.dispatch import BoundTool, CallRun, dispatch
from pegboard.execution.hooks import maybe_await
from pegboard.execution.limits import limits_of, turn_options
from pegboard.execution.nested import dispatch_nested
from pegboard.execution.threads import runner
from pegboard.execution.turn import run_calls
from pegboard.extensions import Profile, ResultsStore
from pegboard.loaded_plugins import LoadedPlugins, application_tools
from pegboard.plugins import index
from pegboard.plugins.features import Features
from pegboard.pool.assembly import assemble
from pegboard.pool.catalog import ToolCatalog
from pegboard.pool.entries import Entry, Pool, edited
from pegboard.pool.sources import Given, Sources, offered_sources
from pegboard.settings import Settings
from pegboard.settings import load as load_settings
from pegboard.wording import nearest
from pegboard_settings import with_filters

if TYPE_CHECKING:
    from pegboard.records import PluginRecord
    from pegboard_processes import ProcessSpec

LARGE = 1_000_000
"""Text beyond this many characters is saved in a thread, so that the event loop does not wait for the disk."""


class BoardOptions(TypedDict, total=False):
    """What an application adds to a board. It belongs to this board only."""

    plugins: Iterable[object]
    """Further objects with hooks."""
    tools: Sequence[Tool[Any, Any]]
    """Further tools."""
    env: Mapping[str, str] | None
    """Environment variables in place of those of this process."""
    services: Services | None
    """Services in place of those that plugins bring."""
    record: bool
    """Whether plugins that keep a log of decisions do so."""


class Board:
    """All tools of one host. Build it once with `Board.load()`; its plugins are then fixed, its pool may refresh."""

    def __init__(self, settings: Settings, found: list[PluginRecord], **options: Unpack[BoardOptions]) -> None:
        refuse_unknown(options, BoardOptions, "A board")
        env = options.get("env")
        self.settings, self.env = settings, os.environ if env is None else env
        self._services = options.get("services")
        self._bound: dict[str, BoundTool] = {}
        self._plugins = LoadedPlugins(found, list(options.get("plugins", ())), settings, self.env)
        self.hooks = self._plugins.bind(record=options.get("record", False))
        sources, self._refused_sources = offered_sources(self.hooks.named("tool_sources"), settings, self.env)
        own = [*options.get("tools", ()), *application_tools(self.hooks)]
        self._sources = Sources([Given("application", own), *sources])
        self.pool = Pool([])
        self.refresh()

    @cached_property
    def services(self) -> Services:
        """What plugins bring with `register_services`, unless the application brought its own."""
        if self._services is not None:
            return self._services
        offered: dict[str, Any] = {"tools": ToolCatalog(lambda: self.pool, lambda name: getattr(self.hooks, name, ()))}
        for register in reversed(self.hooks.register_services):  # The first plugin is last, so that its services win.
            offered |= register(self.settings, self.env)
        return Services.of(offered)

    @property
    def results(self) -> ResultsStore | None:
        """Where results go that are too long for a conversation, if a plugin keeps them."""
        return self.services.others.get("results")  # type: ignore[return-value]

    @classmethod
    def load(
        cls,
        *,
        cwd: str | os.PathLike[str] | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        **options: Unpack[BoardOptions],
    ) -> Board:
        """A board with everything that is installed and switched on, and what the options add; see `BoardOptions`.

        `settings` as a plain dict are added to those of the files, as strong as the command line: baked and managed
        settings are stronger, everything else is weaker. `Settings` are taken as they are, and no file is read.
        Raises `SettingsError` for settings that cannot be used and `PolicyError` for a guard that settings ask for and
        that is missing, switched off or cannot be loaded.
        """
        env = options.get("env")
        if not isinstance(settings, Settings):
            settings = load_settings(cwd, env, application=settings)
        settings.require_sound()
        features = Features(settings)
        found = index.load(lambda plugin: features.off(plugin) is None, env)["plugins"]
        return cls(settings, found, **options)

    def context(self, **changes: Any) -> Context:
        """A context for calls in this board's working directory."""
        base = Context(
            Path(self.settings.cwd),
            self.settings,
            services=self.services,
            gate=self.nested,
            policy=self,
        )
        return replace(base, **changes)

    async def dispatch(self, call: Call, ctx: Context | None = None) -> Result:
        """Handle one call through the whole pipeline. Every call gets a result; nothing a model does raises.

        Time limits of settings hold here, too.
        """
        ctx = ctx or self.context()
        if limits := limits_of(self.settings):
            results, _ = await run_calls(self, [call], ctx, limits=limits)
            return results[0]
        return await dispatch(CallRun(call, ctx), self)

    async def call(self, name: str, input: JSON | None = None, ctx: Context | None = None) -> Result:
        """Call a tool by name, as `dispatch` does for a call of a model."""
        return await self.dispatch(Call(f"call-{token_hex(4)}", name, input or {}), ctx)

    def call_sync(self, name: str, input: JSON | None = None, ctx: Context | None = None) -> Result:
        """Call a tool from a script without an event loop: one is started for this call and ends with it.

        Where one runs already, this raises a `RuntimeError`: there, `await board.call(...)`.
        """
        try:
            current_token()
        except RuntimeError:  # There is no event loop.
            return anyio.run(self.call, name, input, ctx)
        raise RuntimeError("call_sync was called inside a running event loop. Write `await board.call(...)` there.")

    async def nested(self, name: str, input: JSON, ctx: Context) -> Result:
        """Handle a call that a tool makes: what `ctx.call` leads to."""
        return await dispatch_nested(name, input, ctx, self, self.nested_lock)

    async def run(self, calls: Iterable[Call], ctx: Context | None = None) -> list[Result]:
        """Handle the calls of one turn: as if one after another, neighbours that are safe at the same time.

        The results come in the order of the calls.
        """
        results, _ = await run_calls(self, calls, ctx or self.context(), **turn_options(self.settings))
        return results

    def find(self, name: str) -> BoundTool:
        """The tool behind a name, imported on first use; a `ToolError` says why there is none."""
        ready = self._bound.get(name)
        if ready is None:
            entry = self.pool.get(name)
            if entry is None:
                raise ToolError(self._no_such_tool(name), code="not_found")
            tool = self._tool(entry)
            ready = self._bound[name] = BoundTool(tool, entry.dist, runner(tool, self.hooks.wrap_execute))
        return ready

    def equip(self, ctx: Context) -> Context:
        """The context with every `wrap_process` around the processes that a call starts, and the filters of paths."""
        if ctx.policy is None:
            # The application has made it without a board, but what is withheld from searches is withheld all the same.
            ctx = replace(ctx, policy=self)
        processes = ctx.services.processes
        if not self.hooks.wrap_process or processes is None:
            return ctx

        async def wrap(spec: ProcessSpec) -> ProcessSpec:
            for hook in self.hooks.wrap_process:
                spec = await maybe_await(hook(spec, ctx)) or spec
            return spec

        return replace(ctx, services=replace(ctx.services, processes=processes.wrapped_by(wrap)))

    def has_mode(self, name: str) -> bool:
        """Whether this is a permission mode here, under its name or an alias."""
        return name in self.hooks.modes

    def path_filter(self, tool: Tool[Any, Any], root: str, ctx: Context) -> PathFilter | None:
        """One test of all that plugins return from `filter_paths`: what `ctx.path_filter` leads to."""
        tests = [test for hook in self.hooks.filter_paths if (test := hook(tool, root, ctx)) is not None]
        if len(tests) <= 1:
            return tests[0] if tests else None
        return lambda path: all(test(path) for test in tests)

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """Content that is too long for the model: saved whole and previewed, or cut where no plugin saves it."""
        limit, store = tool.max_result_chars, self.results
        if store is None:
            return blocks if limit is None else cut(blocks, limit, tool.name)
        if text_size(blocks) < LARGE:
            return store.fit(blocks, limit, tool.name, call.id)
        return await to_thread.run_sync(store.fit, blocks, limit, tool.name, call.id)

    def refresh(self) -> Pool:
        """Ask changed sources again and rebuild the pool if anything moved; a failing source keeps its last tools."""
        if not self._sources.poll(self.hooks.emit) and self.pool.version:
            return self.pool
        return self._rebuild()

    def _rebuild(self) -> Pool:
        before = {entry.name: entry.definition for entry in self.pool.entries}
        self.pool = assemble(
            self._plugins.found,
            self.settings,
            dynamic=self._sources.records(),
            is_enabled=self._disabled_itself,
            env=self.env,
            version=self.pool.version + 1,
        )
        self.pool.notices += self._refused_sources
        if self.hooks.check_tools:
            infos = self.pool.infos()
            self.pool.notices += [n for check in self.hooks.check_tools for n in check(self.settings, infos)]
        if self.settings.get("strict"):
            require_binaries(self.pool)
        self._bound.clear()  # A tool of the same name may be another one now.
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

    def filter_tools(self, available: Sequence[str] | None = None, excluded: Sequence[str] = ()) -> Pool:
        """Show other tools from now on: these lists take the place of those of the command line.

        None shows all that are there. Baked and managed settings hold; names that mean no tool become notices.
        """
        self.settings = with_filters(self.settings, available, excluded)
        return self._rebuild()

    def definitions(self, profile: Profile | None = None, loaded: Sequence[str] = ()) -> list[dict[str, Any]]:
        """What a request for this model lists, after every `edit_definition`."""
        return edited(self.pool, self.hooks.edit_definition, profile or Profile(), loaded)

    @cached_property
    def nested_lock(self) -> Lock:
        """What keeps calls apart that tools make and that are not safe beside others."""
        return Lock()

    @property
    def plugins(self) -> list[PluginRecord]:
        """Every plugin that was found, with its state, as plain data."""
        return self._plugins.found

    def _tool(self, entry: Entry) -> Tool[Any, Any]:
        given = self._sources.tool(entry)
        return self._plugins.tool(entry) if given is None else given

    def _disabled_itself(self, entry: Entry) -> str | None:
        try:
            with redirect_stdout(sys.stderr):  # Standard output may carry JSON for another program.
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
