"""The board as a sub-agent sees it: fewer tools, the same guards, and its name on everything that happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from anyio import Lock

from pegboard.agents import Listener
from pegboard.board import Board
from pegboard.calls import JSON, Block, Call, Result
from pegboard.context import Context
from pegboard.contract import Tool
from pegboard.errors import ToolError
from pegboard.execution.bound import BoundHooks, Implementation
from pegboard.execution.dispatch import Ready
from pegboard.execution.nested import dispatch_nested
from pegboard.extensions import AgentDefinition, Profile, Question
from pegboard.hookspecs import NAMES
from pegboard.host.results import ResultsStore
from pegboard.pool.definitions import edited
from pegboard.pool.entries import Pool
from pegboard.pool.filters import Choice, child_pool, refusal
from pegboard.settings import Settings

OF_A_SESSION = ("start_session", "submit_prompt", "before_stop", "end_session")
"""Hooks about a person's session: a sub-agent has neither a person's prompts nor an end that concerns anybody."""

UNTOLD = frozenset({"session_started", "session_finished"})


class AgentHooks(BoundHooks):
    """The hooks of a board, for one agent: events carry its id, and questions its name."""

    __slots__ = ("_about",)

    def __init__(self, hooks: BoundHooks, about: Mapping[str, Any], label: str, listener: Listener) -> None:
        self._about, self._bound = about, hooks._bound
        for name in NAMES:
            setattr(self, name, () if name in OF_A_SESSION else getattr(hooks, name))
        self.ask_user = tuple(_naming(hook, label) for hook in hooks.ask_user)
        self.observe = (*hooks.observe, lambda event: listener(event.kind, event.data))
        self._observers = self.observe

    def emit(self, kind: str, **data: Any) -> None:
        """Tell every observer, with the id of the agent and of its parent."""
        if kind not in UNTOLD:
            super().emit(kind, **{**data, **self._about})


def _naming(hook: Implementation, label: str) -> Implementation:
    def ask(question: Question, call: Call, ctx: Context) -> Any:
        named = replace(question, agent=label, description=f"{label}: {question.description}")
        return hook(named, call, ctx)

    return ask


class AgentBoard:
    """A board with the tools that one agent may use. What it does not list it does not run."""

    def __init__(self, parent: AnyBoard, choice: Choice, hooks: BoundHooks) -> None:
        self.parent, self.choice, self.hooks = parent, choice, hooks
        self.settings: Settings = parent.settings
        self._made: tuple[Pool, Pool] | None = None

    @property
    def pool(self) -> Pool:
        """The tools of this agent, as they are now."""
        theirs = self.parent.pool
        if self._made is None or self._made[0] is not theirs:
            self._made = (theirs, child_pool(theirs, self.choice))
        return self._made[1]

    @property
    def nested_lock(self) -> Lock:
        """What keeps calls apart that tools make: one for all agents of a board."""
        return self.parent.nested_lock

    @property
    def results(self) -> ResultsStore:
        """Where results go that are too long for a conversation."""
        return self.parent.results

    def refresh(self) -> Pool:
        """Ask changed sources again."""
        self.parent.refresh()
        return self.pool

    def find(self, name: str) -> Ready:
        """The tool behind a name, if this agent may use it: listing is a courtesy, this is the lock."""
        reason = refusal(self.parent.pool, self.pool, name)
        if reason is not None:
            raise ToolError(reason, code="permission_denied", remedy="")
        return self.parent.find(name)

    def equip(self, ctx: Context) -> Context:
        """The context with the board's hooks around its services."""
        return self.parent.equip(ctx)

    async def nested(self, name: str, input: JSON, ctx: Context) -> Result:
        """Handle a call that a tool makes, with the tools of this agent."""
        return await dispatch_nested(name, input, ctx, self, self.nested_lock)

    async def fit(self, tool: Tool[Any, Any], blocks: tuple[Block, ...], call: Call) -> tuple[Block, ...]:
        """The content within the tool's limit."""
        return await self.parent.fit(tool, blocks, call)

    def definitions(self, profile: Profile | None = None, loaded: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
        """What a request for this model lists."""
        return edited(self.pool, self.hooks.edit_definition, profile or Profile(), loaded)

    def agents(self) -> dict[str, AgentDefinition]:
        """The kinds of sub-agents that plugins bring, by name."""
        return self.parent.agents()

    def context(self, **changes: Any) -> Context:
        """A context for calls in the board's working directory."""
        return self.parent.context(**changes)


AnyBoard: TypeAlias = Board | AgentBoard
