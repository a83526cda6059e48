"""One sub-agent: its conversation, its limits, and what it hands back."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio

from pegboard.agents import ChildOutcome, ChildRequest, Listener
from pegboard.context import Agent, Context
from pegboard.errors import ProviderError, ToolError
from pegboard.permission.grammar import read_rules
from pegboard.permission.pathindex import place
from pegboard.session.restricted import AgentBoard
from pegboard.session.transcript import answer_open_calls
from pegboard.session.usage import Usage
from pegboard.settings import Settings
from pegboard.settings.layers import Layer

if TYPE_CHECKING:
    from pegboard.session.children import Family
    from pegboard.session.loop import Outcome, Session

GRACE = 5.0
"""Seconds that calls have to end when an agent's time is up; then everything is cancelled."""

REPORT = """\
You are a sub-agent. Nobody reads along and nobody answers questions: do the task, then write your report.
Your last message is handed back to the agent that started you, and nothing else of this conversation is."""


class Member:
    """A sub-agent of a session. It keeps its conversation, so that it can be taken up again."""

    board: AgentBoard
    ctx: Context

    def __init__(
        self,
        parent: Session,
        request: ChildRequest,
        agent: Agent,
        label: str,
        family: Family,
        warnings: Sequence[str],
    ) -> None:
        self.request, self.agent, self.label, self.warnings = request, agent, label, warnings
        self.id, self.kind = agent.id, agent.kind
        self.model = request.model or parent.model
        self.usage: Usage = Usage(parent=parent.usage)
        self.state = "ready"
        self.messages: list[dict[str, Any]] = []
        for_agent = getattr(parent.provider, "for_agent", None)
        self._provider = for_agent(request.name, agent.kind) if for_agent else parent.provider
        self._parent, self._family = parent, family
        self._on_event: Listener | None = None
        self._limit = ""

    def __enter__(self) -> Self:
        self._family.busy.add(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        self._family.busy.discard(self.id)
        if self.state == "ready":  # It never ran, as when its worktree could not be made: nobody may go on with it.
            self._family.members.pop(self.id, None)

    def hear(self, kind: str, data: Mapping[str, Any]) -> None:
        """Pass on what happens in this agent and below it."""
        if self._on_event:
            self._on_event(kind, data)

    async def run(
        self,
        prompt: str,
        *,
        workspace: Path | None = None,
        seconds: float | None = None,
        on_event: Listener | None = None,
    ) -> ChildOutcome:
        """Answer a prompt, within the limits of the agent. Cancelling it stops all that it started."""
        if self.state == "running":
            raise ToolError(f"The {self.label} is already running.")
        if workspace is not None:
            settings = anchored(self.ctx.settings, str(workspace))
            self.ctx = replace(self.ctx, cwd=workspace, roots=(), settings=settings)
        if not self.ctx.cwd.is_dir():
            raise ToolError(
                f"{self.ctx.cwd}, where the {self.label} worked, is gone. Start a new agent.", code="not_found"
            )
        self._on_event, self._limit, self.state = on_event, "", "running"
        began, state, session = time.perf_counter(), "stopped", self._open()
        self._tell_start()
        try:
            async with session:
                outcome = await self._answer(session, prompt, seconds)
            state = "done"
        except ProviderError as error:
            state = "failed"
            reason = f"The {self.label} stopped because the model could not be asked: {error}"
            remedy = f"It can be taken up again with resume={self.id!r}."
            raise ToolError(reason, code="internal", remedy=remedy) from None
        except Exception:
            state = "failed"
            raise
        finally:
            self.messages, self.ctx, self.state = answer_open_calls(session.messages), session.ctx, state
            ms = round((time.perf_counter() - began) * 1000, 3)
            self.board.hooks.emit("agent_finished", state=state, ms=ms, usage=self.usage.as_data())
            self._on_event = self.usage.on_add = None
        calls = sum(use.calls for use in self.usage.tools.values())
        stopped_by = self._limit if self._limit and outcome.stopped_by == "interrupted" else outcome.stopped_by
        text = outcome.text or last_words(self.messages)
        return ChildOutcome(text, stopped_by, outcome.turns, self.usage.as_data(), calls, ms)

    def _open(self) -> Session:
        parent, wish = self._parent, self.request
        turns = (wish.max_turns, wish.definition.max_turns, parent.max_turns)
        session = type(parent)(
            self.board,
            self._provider,
            model=self.model,
            system=[REPORT, wish.definition.prompt],
            ctx=self.ctx,
            max_turns=min(turn for turn in turns if turn is not None),
            max_tokens=parent.max_tokens,
            retries=parent.retries,
            session_id=parent.id,
            parent=parent,
        )
        session.messages, session.usage = list(self.messages), self.usage
        budget = wish.token_budget or math.inf

        def watch_budget() -> None:
            if self.usage.total_tokens >= budget:
                self._limit = self._limit or "token_budget"
                session.interrupt("because the tokens of its agent were used up")

        self.usage.on_add = watch_budget
        return session

    async def _answer(self, session: Session, prompt: str, seconds: float | None) -> Outcome:
        outcome: Outcome | None = None
        failure: ProviderError | None = None
        async with anyio.create_task_group() as group:

            async def end_in_time() -> None:
                await anyio.sleep(seconds or math.inf)
                self._limit = "timeout"
                session.interrupt("because the time of its agent was up")
                await anyio.sleep(GRACE)
                group.cancel_scope.cancel()

            if seconds is not None:
                group.start_soon(end_in_time)
            try:
                outcome = await session.run(prompt)
            except ProviderError as error:  # Not out of the group: it would come wrapped.
                failure = error
            group.cancel_scope.cancel()
        if failure:
            raise failure
        return outcome or session.broken_off()

    def _tell_start(self) -> None:
        wish = self.request
        self.board.hooks.emit(
            "agent_started",
            agent_type=self.kind,
            name=wish.name,
            description=wish.description,
            model=self.model,
            depth=self.agent.depth,
            background=wish.is_background,
            color=wish.definition.color,
        )


def last_words(messages: Sequence[Mapping[str, Any]]) -> str:
    """The last text that an agent wrote, for one that was stopped before its report."""
    for message in reversed(messages):
        if message["role"] == "assistant":
            text = "".join(block["text"] for block in message["content"] if block.get("type") == "text")
            if text:
                return text
    return ""


def anchored(settings: Settings, folder: str) -> Settings:
    """The settings for an agent in a folder of its own: rules start there, and all that restricts still holds here."""
    held: dict[str, list[str]] = {}
    for rule in read_rules(settings):
        if rule.kind != "allow" and rule.is_path_rule and not rule.wrong:
            base, names = place(rule, settings.cwd, "~")
            if base != "~":
                text = f"{rule.tool}(/{(base or settings.cwd).rstrip('/')}/{'/'.join(names)})"
                held.setdefault(f"permissions.{rule.kind}", []).append(text)
    layer = Layer("cli", f"the rules of {settings.root}", dict(held))
    return Settings(
        [*settings.layers, layer],
        cwd=folder,
        root=folder,
        problems=settings.problems,
        notices=settings.notices,
        withheld=settings.withheld,
        trusted=settings.trusted,
    )
