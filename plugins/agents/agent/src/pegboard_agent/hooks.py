"""The plugin's hooks: the tool, three kinds of agents, their list for the model, a check of the files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pegboard import Context, Fine, Settings, hookimpl

if TYPE_CHECKING:
    from pegboard import Board
    from pegboard_agent.agent import Agent
    from pegboard_agent.run_as_agent import AgentRole
    from pegboard_session import AgentDefinition, PromptPart, Session

# Imports happen inside functions: every board loads these hooks, and only a session has agents.


@hookimpl
def register_tools() -> list[Agent]:
    from pegboard_agent.agent import Agent

    return [Agent()]


@hookimpl
def register_agents() -> list[AgentDefinition]:
    from pegboard_agent.kinds import BUILT_IN

    return list(BUILT_IN)


@hookimpl
def find_agents(settings: Settings, registered: Mapping[str, AgentDefinition]) -> Mapping[str, AgentDefinition]:
    """Those in files, as the tool would start them."""
    from pegboard_agent.catalogue import catalogue
    from pegboard_agent.kinds import ALIASES

    found = catalogue(settings, registered)
    return {**{alias: kind for alias in ALIASES if (kind := found.get(alias))}, **found.kinds}


@hookimpl
def register_services(settings: Settings, env: Mapping[str, str]) -> dict[str, object]:
    """Let a host make a person's own session an agent: `run_as_agent(board, definition, ctx)`."""

    def run_as_agent(board: Board, definition: AgentDefinition, ctx: Context) -> AgentRole:
        from pegboard_agent.run_as_agent import as_agent

        return as_agent(board, definition, ctx)

    return {"run_as_agent": run_as_agent}


@hookimpl
def register_session_services(session: Session) -> dict[str, object]:
    """Let the tools of a conversation start sub-agents."""
    from pegboard_agent.service import SERVICE
    from pegboard_agent.subagents import SubAgents

    return {SERVICE: SubAgents(session)}


@hookimpl
def system_prompt_parts(session: Session, ctx: Context) -> list[PromptPart]:
    """What an agent with a memory of its own is told about it."""
    if session.definition is None or not session.definition.memory:
        return []
    # Few agents have one.
    from pegboard_agent.agent_memory import memory_words
    from pegboard_session import PromptPart

    words = memory_words(session.definition, session, os.environ)
    return [PromptPart("agent-memory", words, order=85)] if words else []


@hookimpl
def start_session(ctx: Context) -> str | None:
    """Tell the model which kinds of agents there are. Not in the tool's definition: that is the same everywhere."""
    from pegboard_agent.catalogue import catalogue, listing
    from pegboard_agent.service import find_agents_service

    agents = find_agents_service(ctx)
    if agents is None or "Agent" not in agents.tools():
        return None
    return listing(catalogue(ctx.settings, agents.registered()))


@hookimpl
def diagnose(settings: Settings) -> list[str]:
    """What is wrong with the definitions, with file and line."""
    from pegboard.hosting import Features, assemble, load_index
    from pegboard_agent.catalogue import catalogue
    from pegboard_agent.kinds import BUILT_IN

    features = Features(settings)
    found = load_index(lambda plugin: features.off(plugin) is None)["plugins"]
    known = catalogue(settings, {kind.name: kind for kind in BUILT_IN})
    wrong = [*known.problems, *known.check(set(assemble(found, settings).infos()))]
    return [*wrong, *(Fine(words) for words in known.quiet)]
