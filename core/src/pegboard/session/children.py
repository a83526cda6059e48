"""How a session starts others: what a sub-agent may use, how many there are, and where each stands."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard.agents import AgentDefinition, ChildRequest, ChildState
from pegboard.context import Agent, Context
from pegboard.errors import ToolError
from pegboard.permission.compiled import Compiled
from pegboard.permission.modes import ALIASES, effective
from pegboard.pool.entries import Pool
from pegboard.pool.filters import Choice, child_pool, fetched, unresolved
from pegboard.session.member import Member
from pegboard.session.restricted import AgentBoard
from pegboard.settings import Settings

if TYPE_CHECKING:
    from pegboard.session.loop import Session

MAX_DEPTH = 3
MAX_CONCURRENT = 20
WIDTH = ("plan", "default", "acceptEdits", "auto", "bypassPermissions")
"""Modes from the narrowest to the widest. `dontAsk` is none of them: it turns every question into a no."""


class Family:
    """All agents that one person's session has started, however deep."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.busy: set[str] = set()

    def find(self, wanted: str) -> Member | None:
        """The agent with this id or name."""
        named = (member for member in self.members.values() if member.request.name == wanted)
        return self.members.get(wanted) or next(named, None)

    def running(self) -> str:
        """The agents at work, in words."""
        return ", ".join(self.members[key].label for key in sorted(self.busy)) or "none"


class Children:
    """The sub-agents of one session, and the service through which its tools start them."""

    def __init__(self, session: Session, parent: Children | None = None) -> None:
        self._session = session
        self._family: Family = parent._family if parent else Family()
        self._news: list[str] = []

    def registered(self) -> Mapping[str, AgentDefinition]:
        """The kinds of agents that plugins bring, by name."""
        return self._session.board.agents()

    def tools(self) -> Sequence[str]:
        """The names of the tools that the agent of this session may use."""
        return self._session.board.pool.names

    def children(self) -> Sequence[ChildState]:
        """All sub-agents of the session, oldest first."""
        return [
            ChildState(member.id, member.kind, member.request.name, member.state)
            for member in self._family.members.values()
        ]

    def announce(self, words: str) -> None:
        """Tell the model with its next message; if this agent's work is over, whoever started it is told."""
        session = self._session
        while session.parent and not session.is_running:
            session = session.parent
        session._children._news.append(words)

    def news(self) -> list[dict[str, Any]]:
        """What was announced since the last message, as content; each is told once."""
        told, self._news = self._news, []
        return [{"type": "text", "text": words} for words in told]

    def resume(self, wanted: str) -> Member:
        """An agent that has ended, with its history, tools and model."""
        member = self._family.find(wanted)
        if member is None:
            known = ", ".join(member.label for member in self._family.members.values()) or "none"
            raise ToolError(f"There is no agent {wanted!r}. The agents of this session: {known}.", code="not_found")
        if member.id in self._family.busy:
            reason = f"The agent {wanted!r} is still running. Agents at work: {self._family.running()}."
            raise ToolError(f"{reason} Wait for it to end.", code="invalid_input")
        if member.state == "stopped":
            reason = f"The agent {wanted!r} was stopped and is not resumed. Start a new one if the user asks for it."
            raise ToolError(reason, code="cancelled")
        self._require_room()
        return member

    def prepare(self, request: ChildRequest) -> Member:
        """A new agent with its own context and its share of the parent's tools."""
        session, ctx, settings = self._session, self._session.current, self._session.board.settings
        limit, depth = settings.get("agents.maxDepth", MAX_DEPTH), ctx.agent.depth + 1
        if depth > limit:
            reason = f"Agents are nested at most {limit} deep, and this one would be at depth {depth}."
            raise ToolError(f"{reason} Do the work yourself.", code="unsupported")
        self._require_room()
        self._require_new_name(request.name)
        self._require_kind(request.definition.name)
        key = f"agent-{secrets.token_hex(4)}"
        label = f"agent {request.name or request.definition.name} ({key})"
        choice = choice_of(request, label, may_nest=depth < limit, depth_limit=limit)
        warnings = _require_tools(session.board.pool, choice, request)
        agent = Agent(key, request.definition.name, ctx.agent.id, depth)
        member = Member(session, request, agent, label, self._family, warnings)
        about = {"agent": key, "parent": ctx.agent.id}
        member.board = AgentBoard(session.board, choice, about, label, member.hear)
        member.ctx = self._context(ctx, request, agent, fetched(member.board.pool, choice))
        self._family.members[key] = member
        return member

    def _context(self, ctx: Context, request: ChildRequest, agent: Agent, loaded: frozenset[str]) -> Context:
        services, cwd, roots = ctx.services, ctx.cwd, ctx.roots
        if request.cwd is not None:
            cwd, roots = inside(ctx, request.cwd), (*roots, ctx.cwd)
        return replace(
            ctx,
            cwd=cwd,
            roots=roots,
            mode=narrower(ctx.mode, request.definition.permission_mode, ctx.settings),
            agent=agent,
            loaded_tools=ctx.loaded_tools | loaded,
            services=replace(services, files=services.files.fork() if services.files else None, agents=None),
            on_progress=None,
            gate=None,
        )

    def _require_room(self) -> None:
        most = self._session.board.settings.get("agents.maxConcurrent", MAX_CONCURRENT)
        if len(self._family.busy) >= most:
            reason = f"{most} agents are at work, and there is no room for another: {self._family.running()}."
            raise ToolError(f"{reason} Do not try again at once; wait until one of them ends.", code="unsupported")

    def _require_new_name(self, name: str) -> None:
        taken = self._family.find(name) if name else None
        if taken:
            reason = f"The name {name!r} belongs to {taken.label} already. Choose another"
            raise ToolError(f"{reason}, or go on with that agent: resume={taken.id!r}.")

    def _require_kind(self, kind: str) -> None:
        board = self._session.board
        allowed = board.choice.kinds if isinstance(board, AgentBoard) else None
        if allowed is not None and kind not in allowed:
            reason = f"This agent may start agents of the kind {', '.join(sorted(allowed))} only, not {kind}."
            raise ToolError(reason, code="permission_denied")


def choice_of(request: ChildRequest, label: str, *, may_nest: bool, depth_limit: int) -> Choice:
    """What an agent may use, from its definition and what the call narrows further."""
    lists = tuple(names for names in (request.definition.tools, request.tools) if names is not None)
    disallowed = (*request.definition.disallowed_tools, *request.disallowed_tools)
    return Choice(f"the {label}", lists, disallowed, may_nest, depth_limit)


def _require_tools(pool: Pool, choice: Choice, request: ChildRequest) -> list[str]:
    """What is missing of the lists; nothing left of them is an error that names every entry."""
    missing = [reason for names in choice.tools for reason in unresolved(pool, names)]
    if choice.tools and not child_pool(pool, choice).entries:
        reason = f"The agent {request.definition.name} would have no tool at all. "
        raise ToolError(reason + (" ".join(missing) or "Its lists exclude each other."), code="unsupported")
    return missing


def inside(ctx: Context, folder: Path) -> Path:
    """A folder to work in: it has to lie in the working directories, links resolved."""
    wanted = ctx.resolve(folder)
    real, place = os.path.realpath(wanted), Compiled.of(ctx.settings).place(ctx)
    if not os.path.isdir(real):
        raise ToolError(f"cwd: there is no folder {wanted}.", code="not_found")
    if not (place.holds(real) and place.holds(os.path.normpath(wanted))):
        reason = f"cwd: {wanted} lies outside the working directories. An agent works where its parent may work."
        raise ToolError(reason, code="permission_denied")
    return Path(real)


def narrower(parent: str, wanted: str | None, settings: Settings) -> str:
    """The mode of a child: what its definition wants, but never wider than its parent's."""
    parent = effective(parent, settings)
    wanted = ALIASES.get(wanted or parent, wanted or parent)
    if parent == "dontAsk" or (wanted == "dontAsk" and parent != "plan"):
        return "dontAsk"
    if wanted not in WIDTH or WIDTH.index(wanted) > WIDTH.index(parent):
        return parent
    return wanted
