"""One exchange with the model: a request, the answer as it streams in, its calls and results, and how it is stopped."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import anyio

from pegboard import Context, ProviderError, Result, Turn
from pegboard.hosting import STOP, AbandonedThreads, text_size, turn_options
from pegboard_session.answer import Answer, events_of
from pegboard_session.history import Block, result_block, sendable
from pegboard_session.providers import ProviderEvent, Request, TextDelta, ThinkingDelta

if TYPE_CHECKING:
    from pegboard_session.loop import Session

RESULTS_BUDGET = 200_000
"""How many characters all results of one turn may put into the conversation."""


class Interruption:
    """What is stopped when a session is interrupted, and whether it has been."""

    def __init__(self) -> None:
        self.happened = False
        self.limit = ""
        """The limit that interrupted it; empty for an interruption by a person."""
        self.turn: Turn | None = None
        self._scope: anyio.CancelScope | None = None

    def reset(self) -> None:
        """A new prompt begins."""
        self.happened, self.limit = False, ""

    @contextmanager
    def cancels(self) -> Generator[anyio.CancelScope, None, None]:
        """What is awaited inside ends when the session is interrupted."""
        with anyio.CancelScope() as scope:
            self._scope = scope
            try:
                yield scope
            finally:
                self._scope = None

    def request(self, why: str, limit: str) -> None:
        """Stop the running turn, and whatever else is awaited."""
        if limit and not self.happened:
            self.limit = limit
        self.happened = True
        if self.turn:
            self.turn.cancel(why)
        if self._scope:
            self._scope.cancel()


class Exchange:
    """Asks the model and runs what it calls. Sub-agents share the questions and the abandoned threads of their root."""

    def __init__(self, session: Session, parent: Exchange | None = None) -> None:
        self._session = session
        self._questions: anyio.Lock = parent._questions if parent else anyio.Lock()
        self._abandoned: AbandonedThreads = parent._abandoned if parent else AbandonedThreads()
        self._options = turn_options(session.board.settings)
        self._options |= {"questions": self._questions, "abandoned": self._abandoned}
        self._budget: int = session.board.settings.get("resultBudgetChars", RESULTS_BUDGET)

    async def run(self) -> tuple[Answer, list[Result]]:
        """One answer of the model and the results of its calls; asks again while nothing has happened yet."""
        session, is_shorter = self._session, False
        with session.interruption.cancels():  # Listeners may take their time; a person need not.
            await session.announcements.tell_waiting()
        await session.compaction.make_room()
        if session.interruption.happened:
            return Answer(), []
        began = time.monotonic()
        for attempt in count():
            try:
                return await self._attempt(attempt)
            except ProviderError as error:
                if error.kind == "context_overflow" and not is_shorter:
                    is_shorter = await session.compaction.relieve()
                    if is_shorter:
                        continue
                elapsed = time.monotonic() - began
                delay = None if session.is_interrupted else session.retries.delay(error, attempt, elapsed)
                if delay is None:
                    raise
                session.emit("request_retried", reason=str(error), delay=round(delay, 2), attempt=attempt + 1)
                with session.interruption.cancels():
                    await anyio.sleep(delay)
                if session.is_interrupted:
                    return Answer(), []
        raise AssertionError("the last attempt either answers or raises")

    async def _attempt(self, attempt: int) -> tuple[Answer, list[Result]]:
        session, interruption = self._session, self._session.interruption
        answer, broken = Answer(session.conversation.call_ids), None
        request = session.conversation.request()
        # The tools of this very request: a model or a source that changes while it runs counts for the next one.
        session.desk.refused = session.tools.refused(session.profile)
        session.desk.deferred = session.tools.deferred(session.profile)
        session.emit("request_started", attempt=attempt)
        async with Turn(session.ctx, session.desk, **self._options) as turn:
            interruption.turn = turn
            with interruption.cancels():
                try:
                    await self._read_answer(request, answer, turn)
                except ProviderError as error:
                    broken = error
            # After a call has begun to act, a repeated request could make it act twice, so what arrived is kept.
            if broken and not turn.begun:
                session.write("discarded", reason=str(broken), blocks=len(answer.blocks))
                raise broken  # No call has run: leaving the turn drops its calls, and the request can be repeated.
            if broken:
                session.emit("message_cut", reason=str(broken))
            # Before the results are awaited: they need the answer before them, even if the session is stopped.
            self._commit_answer(request, answer)
            turn.end()
            recorded = [(result, self._record_result(result, turn)) async for result in turn.results()]
        interruption.turn = None
        self._move_on(turn.ctx)
        remarks, stop = (
            await session.hooks.turn(session.ctx, [result for result, _ in recorded]) if recorded else ([], "")
        )
        self._append_results(recorded, remarks)
        results = [result for result, _ in recorded]
        if stop:
            results[-1] = replace(results[-1], metadata={**results[-1].metadata, STOP: stop})
        return answer, results

    async def _read_answer(self, request: Request, answer: Answer, turn: Turn) -> None:
        session = self._session
        async with aclosing(events_of(session.provider, request)) as events:
            async for event in events:
                for complete in answer.feed(event):
                    block, call = complete.block, complete.call
                    session.write("block", block=block)  # Before its call starts, so that a crash cannot hide a call.
                    if call:
                        session.emit("call_requested", id=call.id, name=call.name, input=block["input"])
                        turn.add(call)
                self._show(event)
        if not answer.finished:
            raise ProviderError("The answer ended before it was complete.", kind="connection", retryable=True)

    def _show(self, event: ProviderEvent) -> None:
        if isinstance(event, TextDelta):
            self._session.emit("text_written", text=event.text)
        elif isinstance(event, ThinkingDelta):
            self._session.emit("thinking_written", text=event.text)

    def _commit_answer(self, request: Request, answer: Answer) -> None:
        """The message as far as it is complete becomes part of the conversation."""
        session = self._session
        session.compaction.meter.counted = (request, answer.usage)  # Compared later: calls are running now.
        if blocks := sendable(answer.blocks):
            session.conversation.append("assistant", blocks)
        session.account.count(session.model, answer.usage)
        session.emit("message_finished", stop_reason=answer.stop_reason, usage=dict(answer.usage))

    def _record_result(self, result: Result, turn: Turn) -> Block:
        """The block that answers a call, made once: for the transcript now, for the conversation with the others."""
        block = result_block(result)
        self._session.usage.add_result(result)
        self._session.write("result", block=block)
        if STOP in result.metadata:
            turn.cancel("because a hook stopped the session")
        return block

    def _append_results(self, recorded: list[tuple[Result, Block]], more: list[Block]) -> None:
        """All results of a turn go back in one message, in request order, with what there is to say besides."""
        if not recorded:
            return
        session = self._session
        results, blocks = [result for result, _ in recorded], [block for _, block in recorded]
        budget = self._budget
        if sum(text_size(result.content) for result in results) > budget:
            for index, fitted in enumerate(session.desk.results.fit_turn(results, budget)):
                if fitted is not results[index]:
                    blocks[index] = result_block(fitted)
                    session.write("result", block=blocks[index])
        remarks: list[Block] = [{"type": "text", "text": words} for result in results for words in result.messages]
        remarks += more
        remarks += session.conversation.take_news("results")
        if remarks:
            session.write("user", content=remarks)
        session.conversation.append("user", [*blocks, *remarks])

    def _move_on(self, ctx: Context) -> None:
        """The next turn begins where this one ended."""
        session, before = self._session, self._session.ctx
        if (ctx.cwd, ctx.mode, ctx.loaded_tools) != (before.cwd, before.mode, before.loaded_tools):
            session.write("change", cwd=str(ctx.cwd), mode=ctx.mode, loaded_tools=list(ctx.loaded_tools))
        session.ctx = ctx
