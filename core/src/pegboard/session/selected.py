"""A person's own session as an agent: `pegboard run --agent reviewer`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pegboard.agents import AgentDefinition, ChildRequest
from pegboard.board import Board
from pegboard.context import Context
from pegboard.pool.filters import Choice, fetched
from pegboard.session.children import narrower, require_tools
from pegboard.session.restricted import AgentBoard


@dataclass(frozen=True, slots=True)
class Selected:
    """What a session is made of when it is an agent: its tools, its place, its instructions and its limits."""

    board: AgentBoard
    ctx: Context
    system: tuple[str, ...]
    model: str | None
    """The model that its definition wants; None for the usual one."""
    max_turns: int | None
    warnings: tuple[str, ...] = ()


def selected(board: Board, definition: AgentDefinition, ctx: Context) -> Selected:
    """The session of a person as this agent; a `ToolError` says why it would have no tool at all."""
    lists = () if definition.tools is None else (definition.tools,)
    choice = Choice(f"the agent {definition.name}", lists, definition.disallowed_tools, is_main=True)
    warnings = require_tools(board.pool, choice, ChildRequest(definition))
    narrowed = AgentBoard(board, choice, board.hooks)
    wanted = definition.model if definition.model != "inherit" else None
    aliases = board.settings.get("agents.modelAliases", {})
    return Selected(
        narrowed,
        replace(
            ctx,
            mode=narrower(ctx.mode, definition.permission_mode, board.settings),
            agent=replace(ctx.agent, kind=definition.name),
            loaded_tools=ctx.loaded_tools | fetched(narrowed.pool, choice),
        ),
        (definition.prompt,) if definition.prompt else (),
        aliases.get(wanted, wanted) if wanted else None,
        definition.max_turns,
        tuple(warnings),
    )
