"""One sub-agent: its conversation, its limits, and what it hands back."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio

from pegboard.agents import ChildOutcome, Listener
from pegboard.context import Context
from pegboard.errors import PegboardError, ProviderError, ToolError
from pegboard.extensions import Provider
from pegboard.permission.grammar import read_rules
from pegboard.permission.pathindex import place
from pegboard.services import Task
from pegboard.session.account import Budget
from pegboard.session.records import Record, as_line, restore_usage
from pegboard.session.restricted import AgentBoard
from pegboard.session.transcript import Transcript, answer_open_calls, restore
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
        self, parent: Session, family: Family, record: Record, above: Usage, warnings: Sequence[str] = ()
    ) -> None:
        self.agent, self.model, self.request = record.agent, record.model, record.request
        self.state, self.task, self.workspace = record.state, record.task, record.workspace
        self.id, self.kind, self.label = record.agent.id, record.agent.kind, record.label
        self.warnings = warnings
        self.usage: Usage = Usage(parent=above)
        self.messages: list[dict[str, Any]] = []
        self.caller = record.agent.parent
        """The agent that this one works for now; it need not be the one that started it first."""
        self.is_recalled = self._is_recorded = record.state != "ready"
        self._parent, self._family = parent, family
        self._provider: Provider | None = None
        self._on_event: Listener | None = None
        self._stopped = False

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

    def stop(self) -> None:
        """Note that a person wanted this: such an agent is not taken up again."""
        self._stopped = True

    @property
    def is_stopped(self) -> bool:
        """Whether a person stopped this agent, or in the foreground the one that it works for."""
        if self._stopped or self.task:
            return self._stopped
        above, root = self._family.members.get(self.caller or ""), self._family.root
        return above.is_stopped if above else root.is_interrupted and not root.limit

    @property
    def transcript(self) -> Path | None:
        """The file with its conversation, beside that of the person's session."""
        whole = self._family.root.transcript
        return whole.path.with_suffix("") / f"{self.id}.jsonl" if whole else None

    def recall(self, ctx: Context) -> None:
        """Take up the conversation and the costs of an earlier process, in a context of this one."""
        path = self.transcript
        if path is None or not path.exists():
            raise ToolError(f"The conversation of the {self.label} was not kept. Start a new agent.", code="not_found")
        self.messages, _ = restore(path)
        restore_usage(path, self.usage)
        self.ctx, self.is_recalled = ctx, False

    async def run(
        self,
        prompt: str,
        *,
        workspace: Path | None = None,
        seconds: float | None = None,
        on_event: Listener | None = None,
        task: Task | None = None,
    ) -> ChildOutcome:
        """Answer a prompt, within the limits of the agent. Cancelling it stops all that it started."""
        if self.state == "running":
            raise ToolError(f"The {self.label} is already running.")
        if workspace is not None:
            self._move_to(workspace)
        if not self.ctx.cwd.is_dir():
            raise ToolError(
                f"{self.ctx.cwd}, where the {self.label} worked, is gone. Start a new agent.", code="not_found"
            )
        session = self._open()
        if spent := session.account.spent:
            reason = f"The {self.label} has used up its {spent.replace('_', ' ')}."
            raise ToolError(f"{reason} Start a new agent for what is left.", code="unsupported")
        self._on_event, self.task, self._stopped = on_event, task, False
        self._begin(session)
        began, self.state, state = time.perf_counter(), "running", ""
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
            ms = round((time.perf_counter() - began) * 1000, 3)
            self._end(session, state or ("stopped" if self.is_stopped else "interrupted"), ms)
        calls = sum(use.calls for use in self.usage.tools.values())
        text = outcome.text or last_words(self.messages)
        return ChildOutcome(text, outcome.stopped_by, outcome.turns, self.usage.as_data(), calls, ms)

    def _move_to(self, workspace: Path) -> None:
        """Stand in a folder of its own; further in, if the agent went there itself."""
        here = self.ctx.cwd
        cwd = here if here.is_relative_to(workspace) and here.is_dir() else workspace
        settings = self.ctx.settings
        if settings.root != str(workspace):
            settings = anchored(settings, str(workspace))
        self.workspace, self.ctx = workspace, replace(self.ctx, cwd=cwd, roots=(), settings=settings)

    def _open(self) -> Session:
        parent, wish = self._parent, self.request
        turns = (wish.max_turns, wish.definition.max_turns, parent.max_turns)
        for_agent = getattr(parent.provider, "for_agent", None)
        provider: Provider = self._provider or (for_agent(wish.name, self.kind) if for_agent else parent.provider)
        self._provider = provider
        session = type(parent)(
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
        )
        session.resume(self.messages, self.ctx)
        return session

    def _begin(self, session: Session) -> None:
        """Write down that it runs, so that another process could go on; then tell everybody."""
        root, wish = self._family.root, self.request
        if not self._is_recorded:
            root.write("agent", **as_line(self.agent, self.model, wish))
            self._is_recorded = True
        task = self.task and {"id": self.task.id, "name": self.task.name, "output": str(self.task.output or "")}
        root.write("agent_run", id=self.id, task=task, workspace=str(self.workspace) if self.workspace else None)
        if path := self.transcript:
            try:
                session.transcript = Transcript(path)
            except (OSError, PegboardError) as error:
                self.board.hooks.emit("notice", message=f"The {self.label} is not kept: {error}.", data={})
        self.board.hooks.emit(
            "agent_started",
            agent_type=self.kind,
            name=wish.name,
            description=self.task.name if self.task else wish.description,
            model=self.model,
            depth=self.agent.depth,
            background=self.task is not None,
            color=wish.definition.color,
        )

    def _end(self, session: Session, state: str, ms: float) -> None:
        self.messages, self.ctx, self.state = answer_open_calls(session.messages), session.ctx, state
        self._family.root.write("agent_ended", id=self.id, state=state)
        session._children.hand_over()
        self.board.hooks.emit("agent_finished", state=state, ms=ms, usage=self.usage.as_data())
        self._on_event = None

    async def _answer(self, session: Session, prompt: str, seconds: float | None) -> Outcome:
        outcome: Outcome | None = None
        failure: ProviderError | None = None
        async with anyio.create_task_group() as group:

            async def end_in_time() -> None:
                await anyio.sleep(seconds or math.inf)
                session.interrupt("because the time of its agent was up", limit="timeout")
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
