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
from pegboard.host.background import LocalBackground
from pegboard.permission.compiled import Compiled
from pegboard.permission.modes import ALIASES, effective
from pegboard.pool.entries import Pool
from pegboard.pool.filters import Choice, child_pool, fetched, unresolved
from pegboard.services import Task
from pegboard.session.account import no_price
from pegboard.session.member import Member
from pegboard.session.prices import price_of
from pegboard.session.records import Record, last_place, recorded
from pegboard.session.restricted import AgentBoard, AgentHooks, AnyBoard
from pegboard.settings import Settings

if TYPE_CHECKING:
    from pegboard.session.loop import Session

MAX_DEPTH = 3
MAX_CONCURRENT = 20
WIDTH = ("plan", "default", "acceptEdits", "auto", "bypassPermissions")
"""Modes from the narrowest to the widest. `dontAsk` is none of them: it turns every question into a no."""


class Family:
    """All agents that one person's session has started, however deep."""

    def __init__(self, root: Session) -> None:
        self.root = root
        self.members: dict[str, Member] = {}
        self.busy: set[str] = set()

    def find(self, wanted: str) -> Member | None:
        """The agent with this id or name."""
        named = (member for member in self.members.values() if member.request.name == wanted)
        return self.members.get(wanted) or next(named, None)

    def below(self, starter: str) -> list[Member]:
        """The agents that this one has started, and those that they have started, oldest first."""
        above, found = {starter}, list[Member]()
        for member in self.members.values():  # Whoever starts another is older.
            if member.agent.parent in above:
                above.add(member.id)
                found.append(member)
        return found

    def running(self) -> str:
        """The agents at work, in words."""
        return ", ".join(self.members[key].label for key in sorted(self.busy)) or "none"


class Children:
    """The sub-agents of one session, and the service through which its tools start them."""

    def __init__(self, session: Session, parent: Children | None = None) -> None:
        self._session = session
        self._family: Family = parent._family if parent else Family(session)
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
            ChildState(member.id, member.kind, member.request.name, member.state, member.workspace)
            for member in self._family.members.values()
        ]

    def announce(self, words: str) -> None:
        """Tell the model with its next message; if this agent's work is over, whoever started it is told."""
        session = self._session
        while session.parent and not session.is_running:
            session = session.parent
        session._children._news.append(words)
        session.write("news", text=words)

    def news(self) -> list[dict[str, Any]]:
        """What was announced since the last message, as content; each is told once."""
        told, self._news = self._news, []
        return [{"type": "text", "text": words} for words in told]

    def hand_over(self) -> None:
        """The work of this agent is over: what it was not told any more goes to whoever started it."""
        left, self._news = self._news, []
        for words in left:
            self.announce(words)

    def recall(self, path: Path) -> None:
        """Know the agents of an earlier process of this session, and what it did not tell the model any more."""
        records, self._news = recorded(path)
        for record in records:
            above = self._family.members.get(record.agent.parent or "")
            parent_board, usage = (above.board, above.usage) if above else (self._session.board, self._session.usage)
            member = Member(self._session, self._family, record, usage)
            self._hang(member, parent_board)

    def remember_tasks(self, background: LocalBackground) -> None:
        """List the background agents of an earlier process, so that what they wrote can be read."""
        for member in self._family.members.values():
            if member.task:
                state = "stopped" if member.state == "interrupted" else member.state
                background.remember(replace(member.task, state=state))

    def note_stop(self, task: Task) -> None:
        """Somebody stops work in the background: if it is an agent, it is not taken up again."""
        for member in self._family.members.values():
            if member.task and member.task.id == task.id:
                member.stop()

    def resume(self, wanted: str) -> Member:
        """An agent that has ended, with its history, tools and model."""
        ctx, family = self._session.current, self._family
        mine, member = family.below(ctx.agent.id), family.find(wanted)
        if member is None or member not in mine:
            # Not anybody's: an agent with few tools could otherwise work through one that has more.
            known = ", ".join(member.label for member in mine) or "none"
            raise ToolError(f"You have started no agent {wanted!r}. Your agents: {known}.", code="not_found")
        if member.id in family.busy:
            reason = f"The agent {wanted!r} is still running. Agents at work: {family.running()}."
            raise ToolError(f"{reason} Wait for it to end.", code="invalid_input")
        if member.state == "stopped":
            reason = f"The agent {wanted!r} was stopped and is not resumed. Start a new one if the user asks for it."
            raise ToolError(reason, code="cancelled")
        self._require_room()
        self._require_kind(member.kind)
        self._require_price(member.model)
        if member.is_recalled:
            self._recall(member, ctx)
        mode = narrower(ctx.mode, member.request.definition.permission_mode, ctx.settings)
        member.caller, member.ctx = ctx.agent.id, replace(member.ctx, mode=mode)
        return member

    def _recall(self, member: Member, ctx: Context) -> None:
        """The context of a new agent, and then the place where the old one stood."""
        choice = member.board.choice
        fresh = self._context(ctx, member.request, member.agent, fetched(member.board.pool, choice))
        member.recall(fresh)
        cwd, loaded = last_place(member.transcript) if member.transcript else (None, frozenset[str]())
        if cwd and not member.workspace:
            fresh = replace(fresh, cwd=inside(ctx, cwd))
        member.ctx = replace(fresh, loaded_tools=fresh.loaded_tools | loaded)

    def prepare(self, request: ChildRequest) -> Member:
        """A new agent with its own context and its share of the parent's tools."""
        session, ctx = self._session, self._session.current
        depth, limit = ctx.agent.depth + 1, self._max_depth
        if depth > limit:
            reason = f"Agents are nested at most {limit} deep, and this one would be at depth {depth}."
            raise ToolError(f"{reason} Do the work yourself.", code="unsupported")
        self._require_room()
        self._require_new_name(request.name)
        self._require_kind(request.definition.name)
        self._require_price(request.model or session.model)
        agent = Agent(f"agent-{secrets.token_hex(4)}", request.definition.name, ctx.agent.id, depth)
        record = Record(agent, request.model or session.model, request, "ready")
        choice = self._choice(record)
        warnings = require_tools(session.board.pool, choice, request)
        member = Member(session, self._family, record, session.usage, warnings)
        # First what may be refused: an agent that is hung up has its name.
        loaded = fetched(child_pool(session.board.pool, choice), choice)
        member.ctx = self._context(ctx, request, agent, loaded)
        self._hang(member, session.board)
        return member

    @property
    def _max_depth(self) -> int:
        depth: int = self._session.board.settings.get("agents.maxDepth", MAX_DEPTH)
        return depth

    def _choice(self, record: Record) -> Choice:
        limit = self._max_depth
        return choice_of(record.request, record.label, may_nest=record.agent.depth < limit, depth_limit=limit)

    def _hang(self, member: Member, parent_board: AnyBoard) -> None:
        """Give an agent its board: the tools of its parent's board, as far as it may use them."""
        about = {"agent": member.id, "parent": member.agent.parent}
        choice = self._choice(Record(member.agent, member.model, member.request))
        hooks = AgentHooks(parent_board.hooks, about, member.label, member.hear)
        member.board = AgentBoard(parent_board, choice, hooks)
        self._family.members[member.id] = member

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

    def _require_price(self, model: str) -> None:
        settings, provider = self._session.board.settings, self._session.provider
        keeps = settings.get("agents.costBudget") or settings.get("costBudget")
        if keeps is not None and price_of(model, settings, provider) is None:
            raise ToolError(no_price(model), code="unsupported")

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


def require_tools(pool: Pool, choice: Choice, request: ChildRequest) -> list[str]:
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
