"""Prompt, request, stream, calls, results, next request: until the model has nothing left to call."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, Unpack

from pegboard import JSON, Context, Event, ProviderError, Result
from pegboard.hosting import STOP, refuse_unknown
from pegboard_processes import Task
from pegboard_session.announcements import Announcements
from pegboard_session.answer import Answer
from pegboard_session.boards import SessionBoard, ToolBoard
from pegboard_session.compaction import Compacted, Compaction
from pegboard_session.conversation import Conversation
from pegboard_session.event_stream import EventStream, EventStreams
from pegboard_session.exchange import Exchange, Interruption
from pegboard_session.history import Block, as_block
from pegboard_session.model_options import Asking
from pegboard_session.model_profile import ModelProfile
from pegboard_session.model_table import ModelTable
from pegboard_session.model_tools import ModelTools
from pegboard_session.outcome import ENDINGS, FINISHED, Outcome
from pegboard_session.providers import Provider
from pegboard_session.restored import OWN_LINES, Restored
from pegboard_session.retries import Retries
from pegboard_session.session_changes import change_mode, change_model
from pegboard_session.session_hooks import HookCalls, text_of
from pegboard_session.session_options import SessionOptions
from pegboard_session.session_services import open_services, start
from pegboard_session.structured_output import StructuredOutput
from pegboard_session.system_prompt import SystemPrompt
from pegboard_session.time_limit import within_time
from pegboard_session.usage import Account, Budget, SessionUsage

MAX_TURNS = 200


class Session:
    """One conversation. `async with Session(board, provider, model="…") as session: await session.run("…")`."""

    def __init__(self, board: ToolBoard, provider: Provider, **given: Unpack[SessionOptions]) -> None:
        """`SessionOptions` says what may be given."""
        refuse_unknown(given, SessionOptions, "A session")
        self.board, self.provider, self.system = board, provider, given.get("system", ())
        self.models = ModelTable.of(board, provider)
        self.model = self.models.resolve(given.get("model", ""))
        self.max_turns, self.options = given.get("max_turns", MAX_TURNS), dict(given.get("options") or {})
        self.definition, self.transcript = given.get("definition"), given.get("transcript")
        self.parent = parent = given.get("parent")
        self.output = StructuredOutput(given.get("output_schema"))
        self.asking = Asking(self, given.get("output_schema"))
        self.max_tokens: int = given.get("max_tokens") or self.asking.max_tokens
        self.retries = given.get("retries") or Retries.of(board.settings)
        self.id = given.get("session_id") or uuid.uuid4().hex
        self.usage: SessionUsage = given.get("usage") or SessionUsage(parent=parent.usage if parent else None)
        budget, above = given.get("budget") or Budget.of(board.settings), parent.account if parent else None
        self.account: Account = Account(self.models, self.usage, budget, above)
        self.account.price(self.model)  # A budget that could not be kept is refused now.
        self.restored = Restored()
        """What an earlier process left behind, for plugins that continue from it."""
        self.conversation, self.system_prompt = Conversation(self), SystemPrompt(self)
        ctx = given.get("ctx") or board.context()
        self.tools = ModelTools(board, ctx.agent.kind)
        """The tools of the board as the model gets them."""
        self.desk = SessionBoard(board, self.id)
        # The gate too: a tool calls others with the tools of this session's agent, wherever the context comes from.
        self.ctx = replace(ctx, session_id=self.id, gate=self.desk.nested)
        self.hooks, self.interruption = HookCalls(board, of_agent=parent is not None), Interruption()
        self._exchange: Exchange = Exchange(self, parent._exchange if parent else None)
        self.is_running, self._context = False, list[Block]()
        self.on_task_stopped: list[Callable[[Task], None]] = []
        """Called with background work that is stopped."""
        self.on_task_ended: list[Callable[[Task], None]] = []
        """Called with background work that has ended, however it ended."""
        self.compaction: Compaction = Compaction(self)
        self.announcements: Announcements = Announcements(self)
        self.source, self.ending = "startup", ""
        """How a new conversation begins, and why it ends, where a host knows better than `finished`."""
        self._streams = EventStreams(self.desk.scoped)

    async def __aenter__(self) -> Self:
        self.usage.on_add = self._check_budget
        self._exits = AsyncExitStack()
        try:
            self.ctx = replace(self.ctx, services=await open_services(self, self._exits))
            self._context = await start(self)
        except BaseException as error:  # Cancelled: `__aexit__` will not run because `__aenter__` has not returned.
            await self._close(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # Hooks first: they may still need the services that `_close` ends.
            reason = "broken off" if kind else self.ending or "finished"
            await self.hooks.end(self.ctx, self.id, reason, broken_off=kind is not None)
            self.emit("session_finished", id=self.id, usage=self.usage.as_data())
        finally:
            await self._close(kind, error, trace)

    async def _close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._exits.__aexit__(kind, error, trace)
        finally:
            self.usage.on_add = None
            self._streams.end()
            if self.transcript:
                self.transcript.close()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What has been said, as plain data in the shape of `pegboard.Message`."""
        return self.conversation.messages

    @property
    def profile(self) -> ModelProfile:
        """What is known about the model."""
        return self.models.profile(self.model)

    @property
    def is_interrupted(self) -> bool:
        """Whether the prompt that is being answered, or was last, has been interrupted."""
        return self.interruption.happened

    @property
    def limit(self) -> str:
        """The limit that interrupted the prompt that is being answered, or was last; empty for a person's word."""
        return self.interruption.limit

    @property
    def current(self) -> Context:
        """The context as it is now, in the middle of a turn too."""
        return self.interruption.turn.ctx if self.interruption.turn else self.ctx

    def events(self) -> EventStream:
        """What happens in this session from now on, to iterate over. Each event has the session's id in its data."""
        return self._streams.open()

    def forward(self, event: Event) -> None:
        """Show an event of a sub-agent to those who iterate over the events of this session."""
        self._streams.push(event)

    def resume(self, restored: Restored, ctx: Context) -> None:
        """Continue an earlier conversation, in a context of this process. Call it before the session is entered."""
        self.restored = restored
        self.conversation.go_on_from(restored)
        self.ctx = replace(ctx, session_id=self.id, gate=self.desk.nested)
        if restored.usage:
            self.usage.go_on_from(restored.usage)

    def set_mode(self, name: str) -> str:
        """Change the permission mode, also for later calls of the running turn. Says why where it may not be used."""
        return change_mode(self, name)

    def set_model(self, name: str) -> None:
        """Ask another model of the same provider from the next request on. A `ProviderError` where it cannot be."""
        change_model(self, name)

    async def compact(self, what_to_keep: str = "") -> Compacted:
        """Replace what is older by a summary; `what_to_keep` tells the model that writes it what matters."""
        return await self.compaction.compact(what_to_keep)

    async def run(self, prompt: str | Sequence[JSON]) -> Outcome:
        """Answer one prompt. Raises `ProviderError` when the model cannot be asked; the conversation stays usable."""
        given = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        content = [as_block(block) for block in given]
        self.is_running = True
        self.interruption.reset()
        try:
            if spent := self.account.spent:
                return self._finish("", spent, 0)
            # The time of a sub-agent is its parent's.
            seconds: int | None = None if self.parent else self.board.settings.get("timeBudget", None)
            answer = self._answer_prompt(content)
            return await (answer if seconds is None else within_time(seconds, self, answer))
        except ProviderError as error:
            await self.hooks.failed(self.ctx, error)
            raise
        finally:
            self.is_running = False

    async def _answer_prompt(self, content: list[Block]) -> Outcome:
        refusal, more = "", list[Block]()
        with self.interruption.cancels() as scope:
            refusal, more = await self.hooks.prompt(self.ctx, text_of(content))
        if scope.cancel_called:
            return self._finish("", "interrupted", 0)
        if refusal:
            return self._finish(refusal, "blocked", 0)
        self.conversation.prompt = text_of(content)
        self.write("prompt", text=self.conversation.prompt)
        self._append_user_message([*self._context, *self.conversation.take_news("prompt"), *content, *more])
        self._context = []
        for number in range(1, self.max_turns + 1):
            answer, results = await self._exchange.run()
            outcome = await self._outcome_of(answer, results, number)
            if outcome:
                return outcome
        return self._finish("", "max_turns", self.max_turns)

    async def _outcome_of(self, answer: Answer, results: Sequence[Result], number: int) -> Outcome | None:
        """How the prompt was answered, or None if the model continues."""
        text, reason = answer.text, answer.stop_reason
        # An answer that calls nothing is complete, even if it used up what was left.
        if self.is_interrupted and not (self.limit and not results and reason == "end_turn"):
            return self._finish(text, self.limit or "interrupted", number)
        if why := next((result.metadata[STOP] for result in results if STOP in result.metadata), ""):
            return self._finish(why, "hook", number)
        if said := next((result.metadata[FINISHED] for result in results if FINISHED in result.metadata), ""):
            return self._finish(said, "completed", number)
        if results or reason == "pause_turn":
            return None
        ending = ENDINGS.get(reason or "", "end")
        if ending == "context_overflow" and (more := await self.compaction.after_overflow()):
            self._append_user_message(more)
            return None
        if ending == "end" and not self.limit and (more := await self._more_to_do(text)):
            self._append_user_message(more)
            return None
        return self._finish(text, "interrupted" if self.is_interrupted and not self.limit else ending, number)

    async def _more_to_do(self, text: str) -> list[Block]:
        more: list[Block] = []
        with self.interruption.cancels():  # Interrupted, there is no more.
            more += await self.hooks.stop(self.ctx, text, self.transcript.path if self.transcript else None)
        return more or self.output.ask_again(text)

    def _check_budget(self) -> None:
        """After each answer, here or in an agent below: note the totals, and stop where the budget ends."""
        self.write("usage", **self.usage.as_record())
        if not self.is_interrupted and (limit := self.account.spent):
            self.interrupt(f"because its {limit.replace('_', ' ')} is used up", limit=limit)

    def interrupt(self, why: str = "by the user", *, limit: str = "") -> None:
        """Stop the running turn: calls are answered as cancelled, and `run` returns, stopped by the `limit` if any."""
        self.interruption.request(why, limit)

    def break_off(self) -> Outcome:
        """The outcome of a run that was cancelled from outside and whose conversation continues."""
        return self._finish("", self.limit or "interrupted", 0)

    def _finish(self, text: str, why: str, turns: int) -> Outcome:
        outcome = self.output.outcome_of(text, why, turns)
        self.emit("prompt_answered", stopped_by=outcome.stopped_by, turns=turns)
        return outcome

    def _append_user_message(self, content: list[Block]) -> None:
        self.conversation.append("user", content)
        self.write("user", content=content)

    def emit(self, kind: str, **data: Any) -> None:
        """Tell everybody who listens to this session."""
        self.desk.hooks.emit(kind, **data)

    def write(self, kind: str, **data: Any) -> None:
        """Keep a line. A disk that takes no more ends the transcript, not the conversation."""
        if kind not in OWN_LINES:
            self.restored.note(kind, data)
        if self.transcript and (reason := self.transcript.try_to_write(kind, data)):
            self.transcript = None
            self.emit("notice", message=f"The conversation is no longer saved: {reason}.", data={})
