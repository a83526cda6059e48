"""One sub-agent: its conversation, its limits, and what it hands back."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio

from pegboard import Context, PegboardError, Progress, ProviderError, ToolError
from pegboard_agent.scoped_board import AgentBoard
from pegboard_agent.service import Listener, SubAgentOutcome
from pegboard_agent.subagent_log import SubAgentRecord, as_line
from pegboard_processes import Task
from pegboard_session import Budget, Outcome, Provider, Restored, Session, SessionUsage, Transcript, restore
from pegboard_session.restored import answer_open_calls, copied

if TYPE_CHECKING:
    from pegboard_agent.subagent_tree import SubAgentTree

GRACE = 5.0
"""Seconds that calls have to end when an agent's time is up; then everything is cancelled."""

REPORT = """\
You are a sub-agent. No one is watching and no one can answer questions: do the task, then write your report.
Your last message is handed back to the agent that started you, and nothing else from this conversation is."""


class SubAgent:
    """A sub-agent of a session. It keeps its conversation, so that it can be taken up again."""

    board: AgentBoard
    ctx: Context

    def __init__(
        self,
        parent: Session,
        tree: SubAgentTree,
        record: SubAgentRecord,
        above: SessionUsage,
        warnings: Sequence[str] = (),
    ) -> None:
        self.identity, self.model, self.request = record.agent, record.model, record.request
        self.state, self.task, self.workspace = record.state, record.task, record.workspace
        self.id, self.kind, self.label = record.agent.id, record.agent.kind, record.label
        self.warnings = warnings
        self.usage: SessionUsage = SessionUsage(parent=above)
        self.messages: list[dict[str, Any]] = []
        self.system: dict[str, str] = {}
        self.lines: list[dict[str, Any]] = []
        """What plugins have written down in its sessions so far, and parts of its system prompt that stay."""
        self.caller = record.agent.parent
        """The agent that this one works for now; it need not be the one that started it first."""
        self.is_recalled = self._is_recorded = record.state != "ready"
        self._parent, self._tree = parent, tree
        self._provider: Provider | None = None
        self._on_event: Listener | None = None
        self._stopped = False

    def __enter__(self) -> Self:
        self._tree.busy.add(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        self._tree.busy.discard(self.id)
        if self.state == "ready":  # It never ran, so it cannot be resumed: its worktree could not be created.
            self._tree.agents.pop(self.id, None)

    def hear(self, kind: str, data: Mapping[str, Any]) -> None:
        """Pass on what happens in this agent and below it."""
        if self._on_event:
            self._on_event(kind, data)

    def stop(self) -> None:
        """Note that a person wanted this: such an agent is not taken up again."""
        self._stopped = True

    @property
    def is_stopped(self) -> bool:
        """Whether a person stopped this agent, or in the foreground the one that it works for."""
        if self._stopped or self.task:
            return self._stopped
        above, root = self._tree.agents.get(self.caller or ""), self._tree.root
        return above.is_stopped if above else root.is_interrupted and not root.limit

    @property
    def transcript(self) -> Path | None:
        """The file with its conversation, next to that of the user's session."""
        whole = self._tree.root.transcript
        return whole.path.with_suffix("") / f"{self.id}.jsonl" if whole else None

    def recall(self, ctx: Context) -> Restored:
        """Take up the conversation and the costs of an earlier process, in a context of this one."""
        path = self.transcript
        if path is None or not path.exists():
            raise ToolError(f"The conversation of the {self.label} was not saved. Start a new agent.", code="not_found")
        restored = restore(path)
        self.messages, self.system, self.lines = restored.messages, restored.system, restored.lines
        if restored.usage:
            self.usage.go_on_from(restored.usage)
        self.ctx, self.is_recalled = ctx, False
        return restored

    async def run(
        self,
        prompt: str,
        *,
        workspace: Path | None = None,
        seconds: float | None = None,
        on_event: Listener | None = None,
        task: Task | None = None,
    ) -> SubAgentOutcome:
        """Answer a prompt, within the limits of the agent. Cancelling it stops all that it started."""
        if self.state == "running":
            raise ToolError(f"The {self.label} is already running.")
        if workspace is not None:
            self._move_to(workspace)
        if not self.ctx.cwd.is_dir():
            raise ToolError(
                f"{self.ctx.cwd}, where the {self.label} worked, no longer exists. Start a new agent.", code="not_found"
            )
        session = self._open()
        if spent := session.account.spent:
            reason = f"The {self.label} has used up its {spent.replace('_', ' ')}."
            raise ToolError(f"{reason} Start a new agent for the rest.", code="unsupported")
        self._on_event, self.task, self._stopped = on_event, task, False
        self._begin(session)
        began, self.state, state = time.perf_counter(), "running", ""
        try:
            async with self._own_servers(), session:
                outcome = await self._answer(session, prompt, seconds)
            state = "done"
        except ProviderError as error:
            state = "failed"
            reason = f"The {self.label} stopped because the request to the model failed: {error}"
            remedy = f"Resume it with resume={self.id!r}."
            raise ToolError(reason, code="internal", remedy=remedy) from None
        except Exception:
            state = "failed"
            raise
        finally:
            ms = round((time.perf_counter() - began) * 1000, 3)
            self._end(session, state or ("stopped" if self.is_stopped else "interrupted"), ms)
        calls = sum(use.calls for use in self.usage.tools.values())
        text = outcome.text or last_words(self.messages)
        return SubAgentOutcome(text, outcome.stopped_by, outcome.turns, self.usage.as_data(), calls, ms)

    def _move_to(self, workspace: Path) -> None:
        """Move to the agent's own folder, or a subfolder if the agent had changed to it."""
        here = self.ctx.cwd
        cwd = here if here.is_relative_to(workspace) and here.is_dir() else workspace
        settings = self.ctx.settings
        if settings.root != str(workspace):
            settings = settings.moved_to(str(workspace))
        self.workspace, self.ctx = workspace, replace(self.ctx, cwd=cwd, roots=(), settings=settings)

    def _open(self) -> Session:
        parent, wish = self._parent, self.request
        turns = (wish.max_turns, wish.definition.max_turns, parent.max_turns)
        for_agent = getattr(parent.provider, "for_agent", None)
        provider: Provider = self._provider or (for_agent(wish.name, self.kind) if for_agent else parent.provider)
        self._provider = provider
        session = Session(
            self.board,
            provider,
            model=self.model,
            system=[REPORT, wish.definition.prompt],
            ctx=self.ctx,
            max_turns=min(turn for turn in turns if turn is not None),
            max_tokens=parent.max_tokens,
            retries=parent.retries,
            session_id=parent.id,
            parent=parent,
            usage=self.usage,
            budget=Budget.of(self.board.settings, "agents."),
            definition=wish.definition,
        )
        session.resume(Restored(copied(self.messages), system=self.system, lines=self.lines), self.ctx)
        return session

    @asynccontextmanager
    async def _own_servers(self) -> AsyncIterator[None]:
        """The tools of the servers that only this agent uses, where a plugin can connect to them."""
        open_servers: Any = self.ctx.services.others.get("agent_servers")
        if open_servers is None or not any(self.request.definition.mcp_servers.values()):
            yield
            return

        def show(progress: Progress) -> None:
            self.board.hooks.emit("notice", message=progress.message, data=dict(progress.data))

        where = replace(self.board.equip(self.ctx), on_progress=show)
        async with open_servers(self.request.definition, where) as self.board.own_tools:
            try:
                yield
            finally:
                self.board.own_tools = None

    def _begin(self, session: Session) -> None:
        """Record that it runs, so that another process can resume it; then send the event."""
        root, wish = self._tree.root, self.request
        if not self._is_recorded:
            root.write("agent", **as_line(self.identity, self.model, wish))
            self._is_recorded = True
        task = self.task and {"id": self.task.id, "name": self.task.name, "output": str(self.task.output or "")}
        root.write("agent_run", id=self.id, task=task, workspace=str(self.workspace) if self.workspace else None)
        if path := self.transcript:
            try:
                session.transcript = Transcript(path)
            except (OSError, PegboardError) as error:
                message = f"The conversation of the {self.label} is not saved: {error}."
                self.board.hooks.emit("notice", message=message, data={})
        self.board.hooks.emit(
            "agent_started",
            agent_type=self.kind,
            name=wish.name,
            description=self.task.name if self.task else wish.description,
            model=self.model,
            depth=self.identity.depth,
            background=self.task is not None,
            color=wish.definition.color,
        )

    def _end(self, session: Session, state: str, ms: float) -> None:
        self.messages, self.ctx, self.state = copied(session.messages), session.ctx, state
        self.system, self.lines = session.system_prompt.kept(), session.restored.lines
        answer_open_calls(self.messages)
        self._tree.root.write("agent_ended", id=self.id, state=state)
        session.conversation.hand_over()
        self.board.hooks.emit("agent_finished", state=state, ms=ms, usage=self.usage.as_data())
        self._on_event = None

    async def _answer(self, session: Session, prompt: str, seconds: float | None) -> Outcome:
        outcome: Outcome | None = None
        failure: ProviderError | None = None
        async with anyio.create_task_group() as group:

            async def end_in_time() -> None:
                await anyio.sleep(seconds or math.inf)
                session.interrupt("because its agent timed out", limit="timeout")
                await anyio.sleep(GRACE)
                group.cancel_scope.cancel()

            if seconds is not None:
                group.start_soon(end_in_time)
            try:
                outcome = await session.run(prompt)
            except ProviderError as error:  # Not raised inside the task group, which would wrap it.
                failure = error
            group.cancel_scope.cancel()
        if failure:
            raise failure
        return outcome or session.break_off()


def last_words(messages: Sequence[Mapping[str, Any]]) -> str:
    """The last text that an agent wrote, for one that was stopped before its report."""
    for message in reversed(messages):
        if message["role"] == "assistant":
            text = "".join(block["text"] for block in message["content"] if block.get("type") == "text")
            if text:
                return text
    return ""
