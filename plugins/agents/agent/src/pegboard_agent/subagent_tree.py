"""All sub-agents of one person's session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard_agent.subagent import SubAgent
    from pegboard_session import Session


class SubAgentTree:
    """All agents of a session, at any depth."""

    def __init__(self, root: Session) -> None:
        self.root = root
        self.agents: dict[str, SubAgent] = {}
        self.busy: set[str] = set()

    def find(self, wanted: str) -> SubAgent | None:
        """The agent with this id or name."""
        named = (agent for agent in self.agents.values() if agent.request.name == wanted)
        return self.agents.get(wanted) or next(named, None)

    def below(self, starter: str) -> list[SubAgent]:
        """The agents that this one has started, and those that they have started, oldest first."""
        above = {starter}
        found: list[SubAgent] = []
        for agent in self.agents.values():  # A parent is always older than its children.
            if agent.identity.parent in above:
                above.add(agent.id)
                found.append(agent)
        return found

    def running(self) -> str:
        """The running agents, as text."""
        return ", ".join(self.agents[key].label for key in sorted(self.busy)) or "none"
