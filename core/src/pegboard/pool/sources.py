"""Tools that come and go: what an application hands in, and what sources such as MCP servers offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pegboard.contract import Tool
from pegboard.errors import DefinitionError, PluginError
from pegboard.extensions import ToolSource
from pegboard.plugins.builtin import RESERVED
from pegboard.plugins.loader import check_tool
from pegboard.plugins.scan import describe_tool
from pegboard.pool.entries import Entry
from pegboard.settings import Notice, Settings

if TYPE_CHECKING:
    from pegboard.records import ToolOwner, ToolRecord


class Given:
    """Tools that an application handed in; they do not change."""

    version = 0

    def __init__(self, name: str, tools: Sequence[Tool[Any, Any]]) -> None:
        self.name, self._tools = name, tools
        for tool in tools:
            _check(tool)

    def tools(self) -> Sequence[Tool[Any, Any]]:
        """The tools."""
        return self._tools


def offered_sources(
    hooks: Iterable[tuple[str, Callable[..., Any]]], settings: Settings, env: Mapping[str, str]
) -> tuple[list[ToolSource], list[Notice]]:
    """Every source that plugins provide. A hook that fails loses only its own sources; in strict mode it raises."""
    sources: list[ToolSource] = []
    notices = []
    for plugin, hook in hooks:
        try:
            brought = list(hook(settings, env))
            for source in brought:
                if not isinstance(source.name, str):
                    raise TypeError(f"the name of a source must be text, got {source.name!r}")
        except (Exception, SystemExit) as error:
            reason = f"tool_sources failed, so its tools are missing: {type(error).__name__}: {error}"
            if settings.get("strict"):
                raise PluginError(f"{plugin}: {reason}", kind="sources-error") from error
            notices.append(Notice(plugin, reason))
        else:
            sources += brought
    return sources, notices


class Sources:
    """All sources of a board and the last good tools of each."""

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        self._sources = sources
        self._versions: dict[int, Any] = {}
        self._good: dict[int, list[Tool[Any, Any]]] = {}

    def poll(self, emit: Callable[..., None]) -> bool:
        """Ask sources whose version moved; True if anything changed."""
        moved = False
        for number, source in enumerate(self._sources):
            try:
                version = source.version
                if number in self._versions and self._versions[number] == version:
                    continue
                tools = list(source.tools())
                for tool in tools:
                    _check(tool)
            except (Exception, SystemExit) as error:  # a stranger's source: its last good tools stay
                emit("refresh_failed", source=source.name, reason=f"{type(error).__name__}: {error}")
                continue
            self._versions[number], self._good[number] = version, tools
            moved = True
        return moved

    def records(self) -> list[tuple[ToolRecord, ToolOwner]]:
        """Each tool as (record, plugin), the earlier source first; of two equal names the pool keeps the earlier."""
        return [
            (describe_tool(tool), _owner(source, tool))
            for number, source in enumerate(self._sources)
            for tool in self._good.get(number, ())
        ]

    def tool(self, entry: Entry) -> Tool[Any, Any] | None:
        """The live tool behind a dynamic entry."""
        if entry.partition != "dynamic":
            return None
        for number, source in enumerate(self._sources):
            for tool in self._good.get(number, ()):
                if tool.name == entry.name and source.name == entry.dist:
                    return tool
        return None


def _owner(source: ToolSource, tool: Tool[Any, Any]) -> ToolOwner:
    family = tool.family or getattr(source, "family", "") or "application"
    return {
        "dist": source.name,
        "version": "",
        "entry": f"{family}.{source.name}",
        "family": family,
        "overrides": getattr(tool, "overrides_built_in", False),
    }


def _check(tool: Tool[Any, Any]) -> None:
    try:
        check_tool(tool)
    except PluginError as error:
        raise DefinitionError(str(error)) from None
    if tool.name in RESERVED and not getattr(tool, "overrides_built_in", False):
        raise DefinitionError(
            f"{tool.name!r} is the name of a built-in tool. Choose another, or set overrides_built_in=True."
        )
