"""How a session starts others: what a sub-agent may use, how many there are, and how deep each is nested."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pegboard import Agent, Context, Event, ToolError
from pegboard_agent.agent_memory import memory_folder
from pegboard_agent.catalogue import harmless
from pegboard_agent.limits import choice_of, inside, narrower_mode, require_tools
from pegboard_agent.scoped_board import AgentBoard, agent_hooks
from pegboard_agent.service import SERVICE, SubAgentOutcome, SubAgentRequest, SubAgentState
from pegboard_agent.subagent import SubAgent
from pegboard_agent.subagent_log import SubAgentRecord, last_place, read_records
from pegboard_agent.subagent_tree import SubAgentTree
from pegboard_agent.tool_choice import ToolChoice, child_pool, fetched, joined
from pegboard_processes import Task
from pegboard_processes.background import LocalBackground
from pegboard_session import AgentDefinition, registered_agents
from pegboard_session.boards import ToolBoard
from pegboard_session.usage import no_price

if TYPE_CHECKING:
    from pegboard_session import Session

MAX_DEPTH = 3
MAX_CONCURRENT = 20


class SubAgents:
    """The sub-agents of one session, and the service through which its tools start them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        above = session.parent.ctx.services.others.get(SERVICE) if session.parent else None
        self._tree: SubAgentTree = above._tree if isinstance(above, SubAgents) else SubAgentTree(session)
        session.on_task_stopped.append(self.note_stop)
        if self._tree.root is session:
            self._recall()

    def registered(self) -> Mapping[str, AgentDefinition]:
        """The kinds of agents that plugins provide, by name."""
        return registered_agents(self._session.board)

    def tools(self) -> Sequence[str]:
        """The names of the tools that the agent of this session may use."""
        return self._session.board.pool.names

    def model_aliases(self) -> Mapping[str, str]:
        """Short names of models, and what they mean here."""
        return self._session.models.aliases

    def subagents(self) -> Sequence[SubAgentState]:
        """All sub-agents of the session, oldest first."""
        return [
            SubAgentState(agent.id, agent.kind, agent.request.name, agent.state, agent.workspace)
            for agent in self._tree.agents.values()
        ]

    def announce(self, words: str) -> None:
        """Tell the model with its next message; if this agent's work is over, whoever started it is told."""
        self._session.conversation.announce(words)

    def _recall(self) -> None:
        """Know the agents of an earlier process of this session, and what it did not tell the model any more."""
        session = self._session
        records, farewells = read_records(session.restored.lines)
        for words in farewells:
            session.conversation.add_news(words)
        for record in records:
            self._distrust(record)
            above = self._tree.agents.get(record.agent.parent or "")
            parent_board, usage = (above.board, above.usage) if above else (session.board, session.usage)
            self._add(SubAgent(session, self._tree, record, usage), parent_board)
            if record.task and isinstance(session.ctx.services.background, LocalBackground):
                # What its background run wrote can still be read.
                state = "stopped" if record.state == "interrupted" else record.state
                session.ctx.services.background.remember(replace(record.task, state=state))

    def _distrust(self, record: SubAgentRecord) -> None:
        """A project may have lost the trust that it had when the agent was started."""
        settings, definition = self._session.board.settings, record.request.definition
        if not settings.trusted and definition.source.startswith(os.path.join(settings.root, "")):
            record.request = replace(record.request, definition=harmless(definition))

    def note_stop(self, task: Task) -> None:
        """Background work is stopped by the user or the model: an agent that is stopped is not resumed."""
        for agent in self._tree.agents.values():
            if agent.task and agent.task.id == task.id:
                agent.stop()

    def resume(self, wanted: str) -> SubAgent:
        """An agent that has ended, with its history, tools and model."""
        ctx, tree = self._session.current, self._tree
        mine, agent = tree.below(ctx.agent.id), tree.find(wanted)
        if agent is None or agent not in mine:
            # Only its own agents: an agent with few tools could otherwise work through one that has more.
            known = ", ".join(agent.label for agent in mine) or "none"
            raise ToolError(f"You have not started an agent {wanted!r}. Your agents: {known}.", code="not_found")
        if agent.id in tree.busy:
            reason = f"The agent {wanted!r} is still running. Running agents: {tree.running()}."
            raise ToolError(f"{reason} Wait for it to end.", code="invalid_input")
        if agent.state == "stopped":
            reason = f"The agent {wanted!r} was stopped by the user and cannot be resumed."
            raise ToolError(f"{reason} Start a new one if the user asks for it.", code="cancelled")
        self._require_room()
        self._require_kind(agent.kind)
        self._require_price(agent.model)
        if agent.is_recalled:
            self._take_up(agent, ctx)
        modes, wish = self._session.board.hooks.modes, agent.request.definition.permission_mode
        mode = narrower_mode(modes, ctx.mode, wish, ctx.settings)
        agent.caller, agent.ctx = ctx.agent.id, replace(agent.ctx, mode=mode)
        return agent

    def _take_up(self, agent: SubAgent, ctx: Context) -> None:
        """The conversation of an earlier process in the context of a new agent, where the old one stood last."""
        fresh = self._context(ctx, agent.request, agent.identity, fetched(agent.board.pool, agent.board.choice))
        restored = agent.recall(fresh)
        cwd, loaded = last_place(restored)
        if cwd and not agent.workspace:
            fresh = replace(fresh, cwd=inside(ctx, cwd))
        agent.ctx = replace(fresh, loaded_tools=joined(fresh.loaded_tools, loaded))

    def prepare(self, request: SubAgentRequest) -> SubAgent:
        """A new agent with its own context and its share of the parent's tools."""
        session, ctx = self._session, self._session.current
        depth, limit = ctx.agent.depth + 1, self._max_depth
        if depth > limit:
            reason = f"Agents can be nested at most {limit} deep; this one would be at depth {depth}."
            raise ToolError(f"{reason} Do the work yourself.", code="unsupported")
        self._require_room()
        self._require_new_name(request.name)
        self._require_kind(request.definition.name)
        self._require_price(request.model or session.model)
        identity = Agent(f"agent-{secrets.token_hex(4)}", request.definition.name, ctx.agent.id, depth)
        record = SubAgentRecord(identity, request.model or session.model, request, "ready")
        choice = self._choice(record)
        own = any(request.definition.mcp_servers.values())
        warnings = require_tools(session.board.pool, choice, request.definition.name, may_grow=own)
        agent = SubAgent(session, self._tree, record, session.usage, warnings)
        # First what may be refused: an agent that is in the tree has its name.
        loaded = fetched(child_pool(session.board.pool, choice), choice)
        agent.ctx = self._context(ctx, request, identity, loaded)
        self._add(agent, session.board)
        return agent

    async def ask(self, definition: AgentDefinition, prompt: str, seconds: float) -> SubAgentOutcome:
        """Let a new agent answer one prompt, for a plugin that needs its words."""
        request = SubAgentRequest(definition, description=definition.description, model=definition.model)
        with self.prepare(request) as agent:
            return await agent.run(prompt, seconds=seconds)

    @property
    def _max_depth(self) -> int:
        depth: int = self._session.board.settings.get("agents.maxDepth", MAX_DEPTH)
        return depth

    def _choice(self, record: SubAgentRecord) -> ToolChoice:
        limit = self._max_depth
        return choice_of(record.request, record.label, may_nest=record.agent.depth < limit, depth_limit=limit)

    def _add(self, agent: SubAgent, parent_board: ToolBoard) -> None:
        """Give an agent its board: the tools of its parent's board, as far as it may use them."""
        session = self._session

        def observe(event: Event) -> None:
            agent.hear(event.kind, event.data)
            if parent_board is session.board:  # Below another agent, that one's board passes it on.
                session.forward(event)

        about = {"agent": agent.id, "parent": agent.identity.parent, "session": session.id}
        choice = self._choice(SubAgentRecord(agent.identity, agent.model, agent.request))
        hooks = agent_hooks(parent_board.hooks, about, agent.label, observe)
        agent.board = AgentBoard(parent_board, choice, hooks)
        self._tree.agents[agent.id] = agent

    def _context(self, ctx: Context, request: SubAgentRequest, agent: Agent, loaded: Sequence[str]) -> Context:
        services, cwd, roots = ctx.services, ctx.cwd, ctx.roots
        modes, wish = self._session.board.hooks.modes, request.definition.permission_mode
        if request.cwd is not None:
            cwd, roots = inside(ctx, request.cwd), (*roots, ctx.cwd)
        if memory := memory_folder(request.definition, ctx.settings, os.environ):
            roots = (*roots, memory)  # To read it. Changing it asks: it lies in a protected folder.
        return replace(
            ctx,
            cwd=cwd,
            roots=roots,
            mode=narrower_mode(modes, ctx.mode, wish, ctx.settings),
            agent=agent,
            loaded_tools=joined(ctx.loaded_tools, loaded),
            services=replace(services, files=services.files.fork(conversation=True) if services.files else None),
            on_progress=None,
            gate=None,
        )

    def _require_room(self) -> None:
        most = self._session.board.settings.get("agents.maxConcurrent", MAX_CONCURRENT)
        if len(self._tree.busy) >= most:
            reason = f"The limit on running agents ({most}) has been reached: {self._tree.running()}."
            raise ToolError(f"{reason} Wait until one of them finishes before you try again.", code="unsupported")

    def _require_new_name(self, name: str) -> None:
        taken = self._tree.find(name) if name else None
        if taken:
            reason = f"The name {name!r} already belongs to {taken.label}. Choose another"
            raise ToolError(f"{reason}, or continue with that agent: resume={taken.id!r}.")

    def _require_price(self, model: str) -> None:
        settings = self._session.board.settings
        keeps = settings.get("agents.costBudget", None) or settings.get("costBudget")
        if keeps is not None and self._session.models.profile(model).price is None:
            raise ToolError(no_price(model), code="unsupported")

    def _require_kind(self, kind: str) -> None:
        board = self._session.board
        allowed = board.choice.kinds if isinstance(board, AgentBoard) else None
        if allowed is not None and kind not in allowed:
            reason = f"This agent may start only agents of the kind {', '.join(sorted(allowed))}, not {kind}."
            raise ToolError(reason, code="permission_denied")
