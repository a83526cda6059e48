"""Prompt, request, stream, calls, results, next request: until the model has nothing left to call."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import anyio

from pegboard.board import Board
from pegboard.calls import JSON, Result
from pegboard.context import Context, Services
from pegboard.errors import ProviderError
from pegboard.execution.scheduler import Turn
from pegboard.execution.threads import Strays
from pegboard.extensions import Profile, Provider
from pegboard.host.background import LocalBackground
from pegboard.host.processes import LocalProcesses
from pegboard.host.results import text_size
from pegboard.session import requests
from pegboard.session.assembler import Assembler, call_of, for_history
from pegboard.session.completion import ProviderModel
from pegboard.session.limits import turn_options
from pegboard.session.retries import Retries
from pegboard.session.transcript import Transcript
from pegboard.session.usage import Usage

MAX_TOKENS = 32_000
MAX_TURNS = 200
BUDGET = 200_000
"""How many characters all results of one turn may put into the conversation."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a prompt was answered."""

    text: str
    stopped_by: str
    """`end`, `max_turns`, `interrupted`, `max_tokens`, `refusal` or `context_overflow`."""
    turns: int


class Session:
    """One conversation. `async with Session(board, provider, model="…") as session: await session.run("…")`."""

    def __init__(
        self,
        board: Board,
        provider: Provider,
        *,
        model: str = "",
        system: Sequence[str] = (),
        ctx: Context | None = None,
        max_turns: int = MAX_TURNS,
        max_tokens: int = MAX_TOKENS,
        transcript: Transcript | None = None,
        retries: Retries | None = None,
        session_id: str = "",
    ) -> None:
        self.board, self.provider, self.model, self.system = board, provider, model, system
        self.max_turns, self.max_tokens, self.transcript = max_turns, max_tokens, transcript
        self.retries = retries or Retries()
        self.id = session_id or uuid.uuid4().hex
        self.messages: list[dict[str, Any]] = []
        self.usage = Usage()
        self.ctx = replace(ctx or board.context(), session_id=self.id)
        self._questions, self._strays = anyio.Lock(), Strays()
        self._turn: Turn | None = None
        self._reading: anyio.CancelScope | None = None
        self._busy = self._interrupted = False
        self._definitions: tuple[Any, list[dict[str, Any]]] = (None, [])

    async def __aenter__(self) -> Self:
        services = await self._open_services()
        self.ctx = replace(self.ctx, services=services)
        self._emit("session_started", id=self.id, model=self.model, cwd=str(self.ctx.cwd))
        self._write("session", id=self.id, model=self.model, cwd=str(self.ctx.cwd))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._emit("session_finished", id=self.id, usage=self.usage.as_data())
        try:
            await self._exits.__aexit__(kind, error, trace)
        finally:
            if self.transcript:
                self.transcript.close()

    async def _open_services(self) -> Services:
        """What may outlive a call lives as long as the session and not longer."""
        self._exits = AsyncExitStack()
        services = self.ctx.services
        if isinstance(services.processes, LocalProcesses):
            await self._exits.enter_async_context(services.processes)
        background = services.background or await self._exits.enter_async_context(LocalBackground())
        model = services.model or ProviderModel(self.provider, self.model)
        return replace(services, background=background, model=model)

    async def run(self, prompt: str | Sequence[JSON]) -> Outcome:
        """Answer one prompt. Raises `ProviderError` when the model cannot be asked; the conversation stays usable."""
        self._busy, self._interrupted = True, False
        try:
            return await self._answer_prompt(prompt)
        finally:
            self._busy = False

    async def _answer_prompt(self, prompt: str | Sequence[JSON]) -> Outcome:
        content = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else [dict(block) for block in prompt]
        self._say("user", content)
        self._write("user", content=content)
        for number in range(1, self.max_turns + 1):
            answer, results = await self._take_turn()
            text = "".join(block["text"] for block in answer.blocks if block.get("type") == "text")
            reason = answer.stop_reason
            if self._interrupted:
                return self._stop(text, "interrupted", number)
            if results or reason == "pause_turn":
                continue
            words = {
                "max_tokens": "max_tokens",
                "refusal": "refusal",
                "model_context_window_exceeded": "context_overflow",
            }
            return self._stop(text, words.get(reason or "", "end"), number)
        return self._stop("", "max_turns", self.max_turns)

    @property
    def is_running(self) -> bool:
        """Whether a prompt is being answered."""
        return self._busy

    def interrupt(self) -> None:
        """Stop the running turn: calls are answered as cancelled, and `run` returns."""
        self._interrupted = True
        if self._turn:
            self._turn.cancel("by the user")
        if self._reading:
            self._reading.cancel()

    def resume(self, messages: Sequence[dict[str, Any]], ctx: Context) -> None:
        """Go on with an earlier conversation."""
        self.messages = list(messages)
        self.ctx = replace(ctx, session_id=self.id)

    async def _take_turn(self) -> tuple[Assembler, list[Result]]:
        """One answer of the model and the results of its calls; asks again while nothing has happened yet."""
        for attempt in range(self.retries.most + 1):
            try:
                return await self._attempt(attempt)
            except ProviderError as error:
                delay = None if self._interrupted else self.retries.delay(error, attempt)
                if delay is None:
                    raise
                self._emit("request_retried", reason=str(error), delay=round(delay, 2), attempt=attempt + 1)
                with anyio.CancelScope() as self._reading:
                    await anyio.sleep(delay)
                if self._interrupted:
                    return Assembler(), []
        raise AssertionError("the last attempt either answers or raises")

    async def _attempt(self, attempt: int) -> tuple[Assembler, list[Result]]:
        answer, broken = Assembler(), None
        request = self._request()
        self._emit("request_started", attempt=attempt)
        options = turn_options(self.board.settings)
        async with Turn(self.ctx, self.board, questions=self._questions, strays=self._strays, **options) as turn:
            self._turn = turn
            with anyio.CancelScope() as self._reading:
                try:
                    await self._read(request, answer, turn)
                except ProviderError as error:
                    broken = error
            self._reading = None
            if broken and not turn.begun:
                self._write("discarded", reason=str(broken))
                raise broken  # Nothing has run: leaving the turn drops its calls, and the request may be repeated.
            if broken:
                self._emit("message_cut", reason=str(broken))
            self._keep(answer)
            turn.end()
            results = [self._take(result) async for result in turn.results()]
        self._turn, self.ctx = None, self._changed(turn.ctx)
        self._answer(results)
        return answer, results

    async def _read(self, request: JSON, answer: Assembler, turn: Turn) -> None:
        async with aclosing(self.provider.stream(request)) as events:
            async for event in events:
                delta = event.get("delta") or {}
                if delta.get("type") == "text_delta":
                    self._emit("text_written", text=delta["text"])
                elif delta.get("type") == "thinking_delta":
                    self._emit("thinking_written", text=delta["thinking"])
                block = answer.feed(event)
                if block is None:
                    continue
                self._write("block", block=for_history(block))  # Before its call starts: a crash must not hide a call.
                if block.get("type") == "tool_use":
                    self._emit("call_requested", id=block["id"], name=block["name"], input=block["input"])
                    turn.add(call_of(block))
        if not answer.finished:
            raise ProviderError("The answer broke off before its end.", kind="connection", retryable=True)

    def _keep(self, answer: Assembler) -> None:
        """The message as far as it is complete becomes part of the conversation."""
        blocks = [for_history(block) for block in answer.blocks]
        if blocks:
            self._say("assistant", blocks)
        self.usage.add(answer.usage)
        self._emit("message_finished", stop_reason=answer.stop_reason, usage=dict(answer.usage))

    def _take(self, result: Result) -> Result:
        self.usage.add_result(result)
        self._write("result", block=requests.tool_result(result))
        return result

    def _answer(self, results: Sequence[Result]) -> None:
        """All results of a turn go back in one message, in request order."""
        if not results:
            return
        fitted = self._within_budget(results)
        blocks = [requests.tool_result(result) for result in fitted]
        for before, now, block in zip(results, fitted, blocks, strict=True):
            if now is not before:
                self._write("result", block=block)
        remarks = [{"type": "text", "text": message} for result in results for message in result.messages]
        if remarks:
            self._write("user", content=remarks)
        self._say("user", [*blocks, *remarks])

    def _within_budget(self, results: Sequence[Result]) -> Sequence[Result]:
        budget = self.board.settings.get("resultBudgetChars", BUDGET)
        if sum(text_size(result.content) for result in results) <= budget:
            return results
        return self.board.results.fit_turn(results, budget)

    def _changed(self, ctx: Context) -> Context:
        if (ctx.cwd, ctx.mode, ctx.loaded_tools) != (self.ctx.cwd, self.ctx.mode, self.ctx.loaded_tools):
            self._write("change", cwd=str(ctx.cwd), mode=ctx.mode, loaded_tools=sorted(ctx.loaded_tools))
        return ctx

    def _request(self) -> dict[str, Any]:
        pool = self.board.refresh()
        key = (pool.version, self.model, self.ctx.loaded_tools)
        if self._definitions[0] != key:
            self._definitions = (key, self.board.definitions(Profile(self.model), self.ctx.loaded_tools))
        return requests.build(
            model=self.model,
            max_tokens=self.max_tokens,
            system=[*self.system, *pool.guidance(self.ctx.loaded_tools)],
            tools=self._definitions[1],
            breakpoints=pool.cache_breakpoints(self.ctx.loaded_tools),
            messages=self.messages,
        )

    def _stop(self, text: str, why: str, turns: int) -> Outcome:
        self._emit("prompt_answered", stopped_by=why, turns=turns)
        return Outcome(text, why, turns)

    def _say(self, role: str, content: list[dict[str, Any]]) -> None:
        """Add to the conversation; two messages of one role in a row become one."""
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1] = {"role": role, "content": [*self.messages[-1]["content"], *content]}
        else:
            self.messages.append({"role": role, "content": content})

    def _emit(self, kind: str, **data: Any) -> None:
        self.board.hooks.emit(kind, **data)

    def _write(self, kind: str, **data: Any) -> None:
        if self.transcript:
            self.transcript.write(kind, **data)
