"""The Agent tool: sub-agents, and the files that define them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_agent.hooks import (
    diagnose,
    find_agents,
    register_agents,
    register_services,
    register_session_services,
    register_tools,
    start_session,
    system_prompt_parts,
)

if TYPE_CHECKING:
    from pegboard_agent.agent import Agent, AgentInput, AgentOutput

WARM_UP = ("pegboard_agent.agent",)
__all__ = [
    "Agent",
    "AgentInput",
    "AgentOutput",
    "diagnose",
    "find_agents",
    "register_agents",
    "register_services",
    "register_session_services",
    "register_tools",
    "start_session",
    "system_prompt_parts",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The tool loads on use: every session asks this package for kinds of agents, and few start one.
    from pegboard_agent import agent

    return getattr(agent, name)
