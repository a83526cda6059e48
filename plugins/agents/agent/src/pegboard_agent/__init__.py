"""The Agent tool: sub-agents, and the files that define them."""

from pegboard_agent.agent import Agent, AgentInput, AgentOutput
from pegboard_agent.hooks import (
    diagnose,
    find_agents,
    register_agents,
    register_services,
    register_session_services,
    register_tools,
    start_session,
)

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
]
