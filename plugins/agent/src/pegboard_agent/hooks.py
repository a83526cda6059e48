"""What this plugin brings: the tool, three kinds of agents, a word to the model about them, a check of the files."""

from __future__ import annotations

from collections.abc import Mapping

from pegboard import AgentDefinition, Context, hookimpl
from pegboard.settings import Settings
from pegboard_agent.agent import Agent
from pegboard_agent.catalogue import catalogue, listing
from pegboard_agent.kinds import BUILT_IN


@hookimpl
def register_tools() -> list[Agent]:
    return [Agent()]


@hookimpl
def register_agents() -> list[AgentDefinition]:
    return list(BUILT_IN)


@hookimpl
def find_agents(settings: Settings, registered: Mapping[str, AgentDefinition]) -> Mapping[str, AgentDefinition]:
    """Those in files, as the tool would start them."""
    return catalogue(settings, registered).kinds


@hookimpl
def start_session(ctx: Context) -> str | None:
    """Tell the model which kinds of agents there are. Not in the tool's definition: that is the same everywhere."""
    agents = ctx.services.agents
    if agents is None or "Agent" not in agents.tools():
        return None
    return listing(catalogue(ctx.settings, agents.registered()))


@hookimpl
def diagnose(settings: Settings) -> list[str]:
    """What is wrong with the definitions, with file and line."""
    # Imported here because only this command needs to know every tool there is.
    from pegboard.plugins import index
    from pegboard.plugins.features import Features
    from pegboard.pool.assembly import assemble

    features = Features(settings)
    found = index.load(lambda plugin: features.off(plugin) is None)["plugins"]
    known = catalogue(settings, {kind.name: kind for kind in BUILT_IN})
    return [*known.problems, *known.check(assemble(found, settings).known_names)]
