"""A person's own session as an agent: `pegboard run --agent reviewer`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pegboard import Board, Context
from pegboard_agent.limits import narrower_mode, require_tools
from pegboard_agent.scoped_board import AgentBoard
from pegboard_agent.tool_choice import ToolChoice, fetched, joined
from pegboard_session import AgentDefinition


@dataclass(frozen=True, slots=True)
class AgentRole:
    """What makes a session an agent: its tools, its folder, its instructions and its limits."""

    board: AgentBoard
    ctx: Context
    system: tuple[str, ...]
    model: str | None
    """The model that its definition wants; None for the usual one."""
    max_turns: int | None
    definition: AgentDefinition
    warnings: tuple[str, ...] = ()


def as_agent(board: Board, definition: AgentDefinition, ctx: Context) -> AgentRole:
    """The session of a person as this agent; a `ToolError` says why it would have no tool at all."""
    lists = () if definition.tools is None else (definition.tools,)
    choice = ToolChoice(f"the agent {definition.name}", lists, definition.disallowed_tools, is_main=True)
    warnings = require_tools(board.pool, choice, definition.name, may_grow=any(definition.mcp_servers.values()))
    narrowed = AgentBoard(board, choice, board.hooks)
    wanted = definition.model if definition.model != "inherit" else None
    aliases = board.settings.get("agents.modelAliases", {})
    return AgentRole(
        narrowed,
        replace(
            ctx,
            mode=narrower_mode(board.hooks.modes, ctx.mode, definition.permission_mode, board.settings),
            agent=replace(ctx.agent, kind=definition.name),
            loaded_tools=joined(ctx.loaded_tools, fetched(narrowed.pool, choice)),
        ),
        (definition.prompt,) if definition.prompt else (),
        aliases.get(wanted, wanted) if wanted else None,
        definition.max_turns,
        definition,
        tuple(warnings),
    )
