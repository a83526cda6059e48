"""Servers that belong to one agent: connected when it begins to work, and gone when it is done."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from pegboard import Board, Context, Notice, Settings, ToolSource, hookimpl
from pegboard.settings import Layer
from pegboard_mcp.hub import Hub, server_label
from pegboard_mcp.reading import check_servers
from pegboard_mcp.tools import ServerSource

if TYPE_CHECKING:
    from pegboard_session import AgentDefinition


LISTS = ("availableTools", "excludedTools")
"""Settings that say which tools there are."""


class _Tools:
    """Brings the tools of a hub to a board that has no others."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    @hookimpl
    def tool_sources(self) -> Sequence[ToolSource]:
        return [ServerSource(connection, self._hub) for connection in self._hub.connections.values()]


def hub_for(definition: AgentDefinition, settings: Settings, taken: Sequence[str]) -> Hub:
    """The servers that a definition describes. One that it only names is on the board already.

    `taken` are the names of servers that everyone here uses: rules are written for those, and for no others.
    """
    in_project = definition.source.startswith(os.path.join(settings.root, ""))
    layer, notices = "project" if in_project else "user", list[Notice]()
    found: list[tuple[str, Any, str, str]] = []
    for name, entry in definition.mcp_servers.items():
        if entry and name in taken:
            where = f"{definition.source}: the MCP server {name!r}"
            notices.append(Notice(where, "It is not used: there is a server of this name, and its tools are used."))
        elif entry:
            found.append((name, entry, layer, definition.source))
    servers, wrong = check_servers(found, settings, os.environ)
    return Hub(settings, os.environ, (servers, [*notices, *wrong]))


@asynccontextmanager
async def open_servers(definition: AgentDefinition, ctx: Context) -> AsyncIterator[Board]:
    """A board with the tools of an agent's own servers, while they run. What is wrong with them is reported."""
    shared: Hub | None = ctx.services.others.get("mcp")  # type: ignore[assignment]
    hub = hub_for(definition, ctx.settings, list(shared.connections) if shared else [])
    for notice in hub.notices:
        ctx.report(str(notice))
    try:
        hub.start(ctx)
        await hub.reached(list(hub.connections.values()))
        for connection in hub.connections.values():
            if connection.problem:
                ctx.report(f"The MCP server {server_label(connection)}: {connection.problem}")
        yield tool_board(hub, ctx.settings)
    finally:
        with anyio.CancelScope(shield=True):  # Bounded: servers have a few seconds to end.
            await anyio.to_thread.run_sync(hub.close)


def tool_board(hub: Hub, settings: Settings) -> Board:
    """A board with the tools of these servers only. It lists them; the board of the agent judges and runs them."""
    layers = [
        Layer(layer.name, layer.source, {key: layer.values[key] for key in LISTS if key in layer.values})
        for layer in settings.layers
    ]
    return Board(settings=plain(settings, layers), found=[], plugins=[_Tools(hub)], env=os.environ)


def plain(settings: Settings, layers: Sequence[Layer]) -> Settings:
    """The same place with these settings only."""
    return Settings(layers, cwd=settings.cwd, root=settings.root, trusted=settings.trusted, keys=settings.keys)
