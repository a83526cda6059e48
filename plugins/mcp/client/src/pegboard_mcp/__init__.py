"""The tools, resources and prompts of MCP servers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from pegboard import Context, Notice, Settings, ToolSource
    from pegboard_mcp.hub import Hub
    from pegboard_session import Prompted, PromptPart, Session

# Imports happen inside functions: a board without servers must not pay for what connects to them.

TOOL_SOURCES_WHEN = ("mcpServers", "mcp.config", ".mcp.json")
"""Without one of these settings or files there are no servers, and a listing need not ask."""


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
    """The hub, for the tools and commands of this distribution."""
    if not is_configured(settings):
        return {}
    from pegboard_mcp.hub import hub_of

    return {"mcp": hub_of(settings, env)}


@hookimpl
def check_tools(settings: Settings) -> Sequence[Notice]:
    """Servers that are not used, and why."""
    known: Hub | None = settings.__dict__.get("mcp_hub")
    return known.notices if known else []


@hookimpl
def start_session(session_id: str, ctx: Context) -> None:
    """Start the servers in the background."""
    if (hub := hub_in(ctx)) and hub.connections:
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
    if not (hub := hub_in(ctx)):
        return None
    from pegboard_mcp.mentions import mentioned

    await hub.settle(hub.settings.get("mcp.startWait"))
    return await mentioned(prompt, hub, ctx)


@hookimpl
async def end_session(session_id: str, ctx: Context) -> None:
    """End the servers with the last session."""
    if hub := hub_in(ctx):
        await hub.leave(session_id)


@hookimpl
def diagnose(settings: Settings) -> Sequence[str]:
    """Each server, and what is wrong with it, for `pegboard doctor`."""
    if not is_configured(settings):
        return []
    from pegboard_mcp.diagnosis import findings

    return findings(settings, os.environ)


def hub_in(ctx: Context) -> Hub | None:
    """The hub of the board that a context belongs to; None where no server is described."""
    found: Hub | None = ctx.services.others.get("mcp")  # type: ignore[assignment]
    return found
