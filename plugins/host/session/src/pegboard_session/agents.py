"""Kinds of agents: what a plugin or a person writes down about one, and how a board's are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard_session.boards import ToolBoard


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """A kind of sub-agent: its instructions and what it may use."""

    name: str
    description: str
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    permission_mode: str | None = None
    max_turns: int | None = None
    source: str = ""
    background: bool = False
    """Whether it runs in the background unless a call says otherwise."""
    isolation: str = ""
    """`worktree` for an agent that works in a checkout of its own."""
    color: str = ""
    memory_files: bool = True
    """Whether it is shown memory files, such as the project's AGENTS.md."""
    skills: tuple[str, ...] = ()
    """Skills that it knows from the start."""
    effort: str = ""
    """How hard its model should try, where the model has a choice."""
    memory: str = ""
    """Where it keeps a memory of its own: `user`, `project` or `local`."""
    hooks: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Hooks of the user that run only in it, as in a settings file."""
    mcp_servers: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """MCP servers that only it uses, by name; an empty one means the server of that name in the settings."""


def registered_agents(board: ToolBoard) -> dict[str, AgentDefinition]:
    """The kinds of agents that the plugins of a board provide, by name."""
    return {agent.name: agent for register in board.hooks.register_agents for agent in register()}


def find_agents(board: ToolBoard) -> dict[str, AgentDefinition]:
    """Every kind of agent there is, by name: those of plugins, and those defined in files."""
    found = registered_agents(board)
    for find in reversed(board.hooks.find_agents):
        found |= find(board.settings, found)
    return found
