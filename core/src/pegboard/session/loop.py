"""Prompt, request, stream, calls, results, next request: until the model has nothing left to call."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import anyio

from pegboard.calls import JSON, Result
from pegboard.context import Context, Services
from pegboard.errors import ProviderError
from pegboard.execution.dispatch import STOP
from pegboard.execution.limits import turn_options
from pegboard.execution.scheduler import Turn
from pegboard.execution.threads import Strays
from pegboard.extensions import Profile, Provider
from pegboard.host.background import LocalBackground
from pegboard.host.processes import LocalProcesses
from pegboard.host.results import text_size
from pegboard.session import requests
from pegboard.session.account import Account, Budget
from pegboard.session.assembler import Assembler, call_ids, call_of, events_of, for_history, sendable
from pegboard.session.children import Children
from pegboard.session.completion import ProviderModel
from pegboard.session.moments import Moments, text_of
from pegboard.session.records import restore_usage
from pegboard.session.restricted import AnyBoard
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
    """`end`, or why not: `max_turns`, `token_budget`, `cost_budget`, `interrupted`, `max_tokens`, `refusal`,
    `context_overflow`, `blocked` or `hook`.

    A prompt that a hook keeps back is `blocked`; a conversation that one ends is stopped by `hook`: then `text` is why.
    """
    turns: int


class Session:
    """One conversation. `async with Session(board, provider, model="…") as session: await session.run("…")`."""

    def __init__(
        self,
        board: AnyBoard,
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
        parent: Session | None = None,
        usage: Usage | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`parent` is the session that starts this one for a sub-agent: the two share questions, services and costs.

        A sub-agent brings its `usage` along, and its `budget`; the person's session has that of the settings.
        """
        self.board, self.provider, self.model, self.system = board, provider, model, system
        self.max_turns, self.max_tokens, self.transcript = max_turns, max_tokens, transcript
        self.retries = retries or Retries()
        self.id = session_id or uuid.uuid4().hex
        self.messages: list[dict[str, Any]] = []
        self._call_ids: set[str] = set()
        self.usage: Usage = usage or Usage(parent=parent.usage if parent else None)
        budget, above = budget or Budget.of(board.settings), parent.account if parent else None
        self.account: Account = Account(board.settings, provider, self.usage, budget, above)
        self.account.price(model)  # A budget that could not be kept is refused now.
        # The gate too: a tool calls others with the tools of this session's agent, wherever the context comes from.
        self.ctx = replace(ctx or board.context(), session_id=self.id, gate=board.nested)
        self.parent = parent
        self._questions: anyio.Lock = parent._questions if parent else anyio.Lock()
        self._strays: Strays = parent._strays if parent else Strays()
        self._children: Children = Children(self, parent._children if parent else None)
        self._turn: Turn | None = None
        self._reading: anyio.CancelScope | None = None
        self._busy = self._interrupted = False
        self.limit = ""
        """The limit that interrupted the prompt that is being answered, or was last; empty for a person's word."""
        self._definitions: tuple[Any, list[dict[str, Any]]] = (None, [])
        self._moments = Moments(board)
        self._context: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        self.usage.on_add = self._spent
        services = await self._open_services()
        self.ctx = replace(self.ctx, services=services)
        self._emit("session_started", id=self.id, model=self.model, cwd=str(self.ctx.cwd))
        self.write("session", id=self.id, model=self.model, cwd=str(self.ctx.cwd))
        try:
            source, transcript = "resume" if self.messages else "startup", self.transcript
            path = transcript.path if transcript else None
            self._context = await self._moments.start(self.ctx, self.id, source, path)
        except BaseException as error:  # Cancelled: nobody will leave what was never entered.
            await self._close(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._moments.end(self.ctx, self.id, broken_off=kind is not None)
            self._emit("session_finished", id=self.id, usage=self.usage.as_data())
        finally:
            await self._close(kind, error, trace)

    async def _close(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._exits.__aexit__(kind, error, trace)
        finally:
            self.usage.on_add = None
            if self.transcript:
                self.transcript.close()

    async def _open_services(self) -> Services:
        """What may outlive a call lives as long as the session and not longer."""
        self._exits = AsyncExitStack()
        services = self.ctx.services
        processes = services.processes
        if isinstance(processes, LocalProcesses) and not self.parent:
            # Its own: two sessions on one board begin and end when they like.
            processes = await self._exits.enter_async_context(processes.apart(sweeps=True))
        background = services.background
        if background is None:
            local = LocalBackground(on_stop=self._children.note_stop)
            background = await self._exits.enter_async_context(local)
            self._children.remember_tasks(local)
        model = services.model
        if model is None or isinstance(model, ProviderModel):  # A sub-agent's questions are on its own account.
            model = ProviderModel(self.provider, self.model, account=self.account)
        files = services.files if self.parent or services.files is None else services.files.fork()
        return replace(
            services, files=files, processes=processes, background=background, model=model, agents=self._children
        )

    async def run(self, prompt: str | Sequence[JSON]) -> Outcome:
        """Answer one prompt. Raises `ProviderError` when the model cannot be asked; the conversation stays usable."""
        self._busy, self._interrupted, self.limit = True, False, ""
        try:
            if spent := self.account.spent:
                return self._stop("", spent, 0)
            return await self._answer_prompt(prompt)
        finally:
            self._busy = False

    async def _answer_prompt(self, prompt: str | Sequence[JSON]) -> Outcome:
        content = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else [dict(block) for block in prompt]
        refusal, more = "", list[dict[str, Any]]()
        with anyio.CancelScope() as scope:
            self._reading = scope
            refusal, more = await self._moments.prompt(self.ctx, text_of(content))
        if scope.cancel_called:
            return self._stop("", "interrupted", 0)
        if refusal:
            return self._stop(refusal, "blocked", 0)
        self.write("prompt", text=text_of(content))
        self._tell([*self._context, *self._children.news(), *content, *more])
        self._context = []
        for number in range(1, self.max_turns + 1):
            answer, results = await self._take_turn()
            text = "".join(block["text"] for block in answer.blocks if block.get("type") == "text")
            reason = answer.stop_reason
            # An answer that calls nothing is complete, even if it used up what was left.
            if self._interrupted and not (self.limit and not results and reason == "end_turn"):
                return self._stop(text, self.limit or "interrupted", number)
            if why := next((result.metadata[STOP] for result in results if STOP in result.metadata), ""):
                return self._stop(why, "hook", number)
            if results or reason == "pause_turn":
                continue
            words = {
                "max_tokens": "max_tokens",
                "refusal": "refusal",
                "model_context_window_exceeded": "context_overflow",
            }
            ending = words.get(reason or "", "end")
            if ending == "end" and not self.limit and (more := await self._more_to_do(text)):
                self._tell(more)
                continue
            return self._stop(text, "interrupted" if self._interrupted and not self.limit else ending, number)
        return self._stop("", "max_turns", self.max_turns)

    async def _more_to_do(self, text: str) -> list[dict[str, Any]]:
        with anyio.CancelScope() as self._reading:
            return await self._moments.stop(self.ctx, text)
        return []  # Interrupted.

    @property
    def is_running(self) -> bool:
        """Whether a prompt is being answered."""
        return self._busy

    @property
    def is_interrupted(self) -> bool:
        """Whether the prompt that is being answered, or was last, has been interrupted."""
        return self._interrupted

    @property
    def current(self) -> Context:
        """The context as it is now, in the middle of a turn too."""
        return self._turn.ctx if self._turn else self.ctx

    def interrupt(self, why: str = "by the user", *, limit: str = "") -> None:
        """Stop the running turn: calls are answered as cancelled, and `run` returns, stopped by the `limit` if any."""
        if limit and not self._interrupted:
            self.limit = limit
        self._interrupted = True
        if self._turn:
            self._turn.cancel(why)
        if self._reading:
            self._reading.cancel()

    def resume(self, messages: Sequence[dict[str, Any]], ctx: Context) -> None:
        """Go on with an earlier conversation."""
        self.messages = list(messages)
        self._call_ids = {found for message in messages for found in call_ids(message["content"])}
        self.ctx = replace(ctx, session_id=self.id, gate=self.board.nested)
        if self.transcript and not self.parent:
            restore_usage(self.transcript.path, self.usage)
            self._children.recall(self.transcript.path)

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
        answer, broken = Assembler(self._call_ids), None
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
                self.write("discarded", reason=str(broken), blocks=len(answer.blocks))
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
        async with aclosing(events_of(self.provider, request)) as events:
            async for event in events:
                block = answer.feed(event)
                if block is None:
                    self._show(event.get("delta") or {})
                    continue
                self.write("block", block=for_history(block))  # Before its call starts: a crash must not hide a call.
                if block.get("type") == "tool_use":
                    self._emit("call_requested", id=block["id"], name=block["name"], input=block["input"])
                    turn.add(call_of(block))
        if not answer.finished:
            raise ProviderError("The answer broke off before its end.", kind="connection", retryable=True)

    def _show(self, delta: JSON) -> None:
        for kind in ("text", "thinking"):
            if delta.get("type") == f"{kind}_delta" and isinstance(delta.get(kind), str):
                self._emit(f"{kind}_written", text=delta[kind])

    def _keep(self, answer: Assembler) -> None:
        """The message as far as it is complete becomes part of the conversation."""
        if blocks := sendable(answer.blocks):
            self._say("assistant", blocks)
            self._call_ids.update(call_ids(blocks))
        self.account.count(self.model, answer.usage)
        self._emit("message_finished", stop_reason=answer.stop_reason, usage=dict(answer.usage))

    def _spent(self) -> None:
        """After each answer, here or in an agent below: note the totals, and stop where the budget ends."""
        self.write("usage", **self.usage.as_record())
        if not self._interrupted and (limit := self.account.spent):
            self.interrupt(f"because its {limit.replace('_', ' ')} is used up", limit=limit)

    def _take(self, result: Result) -> Result:
        self.usage.add_result(result)
        self.write("result", block=requests.tool_result(result))
        if STOP in result.metadata and self._turn:
            self._turn.cancel("because a hook stopped the session")
        return result

    def _answer(self, results: Sequence[Result]) -> None:
        """All results of a turn go back in one message, in request order."""
        if not results:
            return
        fitted = self._within_budget(results)
        blocks = [requests.tool_result(result) for result in fitted]
        for before, now, block in zip(results, fitted, blocks, strict=True):
            if now is not before:
                self.write("result", block=block)
        remarks = [{"type": "text", "text": message} for result in results for message in result.messages]
        remarks += self._children.news()
        if remarks:
            self.write("user", content=remarks)
        self._say("user", [*blocks, *remarks])

    def _within_budget(self, results: Sequence[Result]) -> Sequence[Result]:
        budget = self.board.settings.get("resultBudgetChars", BUDGET)
        if sum(text_size(result.content) for result in results) <= budget:
            return results
        return self.board.results.fit_turn(results, budget)

    def _changed(self, ctx: Context) -> Context:
        if (ctx.cwd, ctx.mode, ctx.loaded_tools) != (self.ctx.cwd, self.ctx.mode, self.ctx.loaded_tools):
            self.write("change", cwd=str(ctx.cwd), mode=ctx.mode, loaded_tools=sorted(ctx.loaded_tools))
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

    def broken_off(self) -> Outcome:
        """The outcome of a run that was cancelled from outside and whose conversation goes on."""
        return self._stop("", self.limit or "interrupted", 0)

    def _stop(self, text: str, why: str, turns: int) -> Outcome:
        self._emit("prompt_answered", stopped_by=why, turns=turns)
        return Outcome(text, why, turns)

    def _tell(self, content: list[dict[str, Any]]) -> None:
        self._say("user", content)
        self.write("user", content=content)

    def _say(self, role: str, content: list[dict[str, Any]]) -> None:
        """Add to the conversation; two messages of one role in a row become one."""
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1] = {"role": role, "content": [*self.messages[-1]["content"], *content]}
        else:
            self.messages.append({"role": role, "content": content})

    def _emit(self, kind: str, **data: Any) -> None:
        self.board.hooks.emit(kind, **data)

    def write(self, kind: str, **data: Any) -> None:
        """Keep a line. A disk that takes no more ends the transcript, not the conversation."""
        if not self.transcript:
            return
        try:
            self.transcript.write(kind, **data)
        except OSError as error:
            self.transcript.close()
            self.transcript = None
            self._emit("notice", message=f"The conversation is no longer kept: {error.strerror}.", data={})
