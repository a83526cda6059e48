"""The tools, resources and prompts of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import Context, Settings, ToolSource

# Imports happen inside functions: a board without servers must not pay for what connects to them.


@hookimpl
def tool_sources(settings: Settings, env: Mapping[str, str]) -> Sequence[ToolSource]:
    """One source for each server; its tools are known from the last session, and change with the server's."""
    from pegboard_mcp.hub import hub_of
    from pegboard_mcp.tools import ServerSource

    hub = hub_of(settings, env)
    return [ServerSource(connection, hub) for connection in hub.connections.values()]


@hookimpl
def register_services(settings: Settings, env: Mapping[str, str]) -> Mapping[str, object]:
    """The hub, for the tools and commands of this distribution."""
    from pegboard_mcp.hub import hub_of

    return {"mcp": hub_of(settings, env)}


@hookimpl
def start_session(session_id: str, ctx: Context) -> None:
    """Start the servers in the background."""
    if (hub := _hub(ctx)) and hub.connections:
        hub.enter(session_id, ctx)


@hookimpl
async def end_session(session_id: str, ctx: Context) -> None:
    """End the servers with the last session."""
    if hub := _hub(ctx):
        await hub.leave(session_id)


def _hub(ctx: Context) -> Any:
    return ctx.services.others.get("mcp")
