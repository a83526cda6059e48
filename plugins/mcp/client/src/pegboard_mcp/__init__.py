"""The tools, resources and prompts of MCP servers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import Board, Context, Notice, Settings, ToolSource
    from pegboard_mcp.hub import Hub
    from pegboard_session import AgentDefinition, Prompted, PromptPart, Session

# Imports happen inside functions: a board without servers must not pay for what connects to them.

TOOL_SOURCES_WHEN = ("mcpServers", "mcp.config", ".mcp.json")
"""Without one of these settings or files there are no servers, and a listing need not ask."""

OF_THE_AGENT = "mcp_of_the_agent"
"""The service with the servers of an agent that a person talks to."""


def is_configured(settings: Settings) -> bool:
    """Whether any server is described, wherever."""
    *keys, file = TOOL_SOURCES_WHEN
    return any(map(settings.holders, keys)) or os.path.lexists(os.path.join(settings.root, file))


@hookimpl
def tool_sources(settings: Settings, env: Mapping[str, str]) -> Sequence[ToolSource]:
    """One source for each server; its tools are known from the last session, and change with the server's."""
    if not is_configured(settings):
        return []
    from pegboard_mcp.hub import hub_of
    from pegboard_mcp.resources import ResourceSource
    from pegboard_mcp.tools import ServerSource

    hub = hub_of(settings, env)
    servers = [ServerSource(connection, hub) for connection in hub.connections.values()]
    return [*servers, ResourceSource(hub)]


@hookimpl
def register_services(settings: Settings, env: Mapping[str, str]) -> Mapping[str, object]:
    """The hub, for the tools and commands of this distribution; and servers of single agents."""
    if not is_configured(settings):
        return {"agent_servers": _open_servers}
    from pegboard_mcp.hub import hub_of

    return {"mcp": hub_of(settings, env), "agent_servers": _open_servers}


def _open_servers(definition: AgentDefinition, ctx: Context) -> AbstractAsyncContextManager[Board]:
    """A board with the tools of the servers that only this agent uses, while they run."""
    from pegboard_mcp.agent_servers import open_servers

    return open_servers(definition, ctx)


@hookimpl
def register_session_services(session: Session) -> Mapping[str, object]:
    """The servers of the agent that a person's own session is, as with `pegboard run --agent`."""
    definition = session.definition
    if session.parent or definition is None or not any(definition.mcp_servers.values()):
        return {}
    from pegboard_mcp.agent_servers import hub_for, tool_board

    shared = hub_in(session.ctx)
    hub = hub_for(definition, session.ctx.settings, list(shared.connections) if shared else [])
    if hasattr(session.board, "own_tools"):
        session.board.own_tools = tool_board(hub, session.ctx.settings)
    return {OF_THE_AGENT: hub}


@hookimpl
def check_tools(settings: Settings) -> Sequence[Notice]:
    """Servers that are not used, and why."""
    known: Hub | None = settings.__dict__.get("mcp_hub")
    return known.notices if known else []


@hookimpl
def start_session(session_id: str, ctx: Context) -> None:
    """Start the servers in the background."""
    for hub in hubs_in(ctx):
        if hub.connections:
            hub.enter(session_id, ctx)


@hookimpl
async def system_prompt_parts(session: Session) -> Sequence[PromptPart] | None:
    """What the servers say about how to use them, marked as theirs."""
    if not (hub := hub_in(session.ctx)):
        return None
    from pegboard_mcp.instructions import parts_of

    return parts_of(hub)


@hookimpl
async def submit_prompt(prompt: str, ctx: Context) -> Prompted | None:
    """Wait a moment for servers that are new, and add the resources that the prompt mentions."""
    if not (hubs := hubs_in(ctx)):
        return None
    from pegboard_mcp.mentions import mentioned

    for hub in hubs:
        await hub.settle(hub.settings.get("mcp.startWait"))
    return await mentioned(prompt, hubs[0], ctx)


@hookimpl
async def end_session(session_id: str, ctx: Context) -> None:
    """End the servers with the last session."""
    for hub in hubs_in(ctx):
        await hub.leave(session_id)


@hookimpl
def diagnose(settings: Settings) -> Sequence[str]:
    """Each server, and what is wrong with it, for `pegboard doctor`."""
    if not is_configured(settings):
        return []
    from pegboard_mcp.diagnosis import findings

    return findings(settings, os.environ)


def hubs_in(ctx: Context) -> list[Hub]:
    """The hubs of a session: the board's, and that of the agent which the session is."""
    found: list[Hub | None] = [hub_in(ctx), ctx.services.others.get(OF_THE_AGENT)]  # type: ignore[list-item]
    return [hub for hub in found if hub is not None]


def hub_in(ctx: Context) -> Hub | None:
    """The hub of the board that a context belongs to; None where no server is described."""
    found: Hub | None = ctx.services.others.get("mcp")  # type: ignore[assignment]
    return found
