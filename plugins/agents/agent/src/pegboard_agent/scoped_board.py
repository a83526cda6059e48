"""The board as a sub-agent sees it: fewer tools, the same guards, and its name on everything that happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyio import Lock

from pegboard import Block, Board, Call, Context, Event, Profile, Question, Settings, Tool, ToolError
from pegboard.hosting import BoundHooks, BoundTool, Implementation, Pool, ResultsStore, edited, runner
from pegboard_agent.tool_choice import ToolChoice, child_pool, refusal
from pegboard_session.boards import ScopedHooks, ToolBoard

OF_A_SESSION = ("start_session", "submit_prompt", "before_stop", "end_session")
"""Hooks about a person's session: they do not apply to a sub-agent, which has no user prompts and no end of its own."""

UNTOLD = frozenset({"session_started", "session_finished"})


def agent_hooks(
    hooks: BoundHooks, about: Mapping[str, Any], label: str, observer: Callable[[Event], None]
) -> ScopedHooks:
    """The hooks of a board, for one agent: events carry its id and its parent's, and questions its name."""
    made = ScopedHooks(hooks, about, observer=observer, without=OF_A_SESSION, untold=UNTOLD)
    made.name_questions(lambda hook: _naming(hook, label))
    return made


def _naming(hook: Implementation, label: str) -> Implementation:
    def ask(question: Question, call: Call, ctx: Context) -> Any:
        named = replace(question, agent=label, description=f"{label}: {question.description}")
        return hook(named, call, ctx)

    return ask


def with_own(pool: Pool, own: Pool | None) -> Pool:
    """The tools of a board and an agent's own; a name that is known on the board stays what it is there."""
    if own is None:
        return pool
    known = pool.infos()
    more = [entry for entry in own.entries if entry.name not in known]
    return Pool([*pool.entries, *more], [*pool.absent, *own.absent], pool.notices, pool.version)


class AgentBoard:
    """A board with the tools that one agent may use. What it does not list it does not run."""

    def __init__(self, parent: ToolBoard, choice: ToolChoice, hooks: BoundHooks) -> None:
        self.parent, self.choice, self.hooks = parent, choice, hooks
        self.settings: Settings = parent.settings
        self.own_tools: Board | None = None
        """Tools that only this agent has: those of its own servers, while they run."""
        self._made: tuple[Pool, Pool | None, Pool] | None = None

    @property
    def pool(self) -> Pool:
        """The tools of this agent, as they are now."""
        theirs, own = self.parent.pool, self.own_tools.pool if self.own_tools else None
        if self._made is None or self._made[0] is not theirs or self._made[1] is not own:
            self._made = (theirs, own, child_pool(with_own(theirs, own), self.choice))
        return self._made[2]

    @property
    def nested_lock(self) -> Lock:
        """What keeps calls apart that tools make: one for all agents of a board."""
        return self.parent.nested_lock

    @property
    def results(self) -> ResultsStore | None:
        """Where results go that are too long for a conversation."""
        return self.parent.results

    def refresh(self) -> Pool:
        """Ask changed sources again."""
        self.parent.refresh()
        if self.own_tools:
            self.own_tools.refresh()
        return self.pool

    def find(self, name: str) -> BoundTool:
        """The tool behind a name, if this agent may use it: listing is a courtesy, this is the lock."""
        reason = refusal(self.parent.pool, self.pool, name)
        if reason is not None:
            raise ToolError(reason, code="permission_denied", remedy="")
        if self.own_tools and self.parent.pool.get(name) is None and self.pool.get(name) is not None:
            found = self.own_tools.find(name)
            return replace(found, execute=runner(found.tool, self.hooks.wrap_execute))
        return self.parent.find(name)

    def equip(self, ctx: Context) -> Context:
        """The context with the board's hooks around its services."""
        return self.parent.equip(ctx)

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """The content within the tool's limit."""
        return await self.parent.fit(tool, blocks, call)

    def definitions(self, profile: Profile | None = None, loaded: Sequence[str] = ()) -> list[dict[str, Any]]:
        """What a request for this model lists."""
        return edited(self.pool, self.hooks.edit_definition, profile or Profile(), loaded)

    def context(self, **changes: Any) -> Context:
        """A context for calls in the board's working directory."""
        return self.parent.context(**changes)
