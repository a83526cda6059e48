"""One turn: calls run as if one after another, and neighbours that are safe overlap.

Who may start is decided in `queue.py`; here calls are run, cancelled and answered. There is no task per call: a worker
that has finished a call takes the next one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import Self, Unpack

from anyio import CancelScope, Event, Lock, Semaphore, create_task_group, get_cancelled_exc_class
from anyio.abc import TaskGroup
from anyio.lowlevel import EventLoopToken, checkpoint_if_cancelled, current_token

from pegboard.calls import Call, Result
from pegboard.context import Change, Context
from pegboard.errors import refuse_unknown
from pegboard.execution import failure_results
from pegboard.execution.dispatch import BoundTool, ToolHost, dispatch, report_finished
from pegboard.execution.limits import TurnOptions
from pegboard.execution.overlap import safety
from pegboard.execution.queue import CallQueue, ContextChangedError, QueuedCall
from pegboard.execution.threads import AbandonedThreads, left_running

CAP = 10
"""How many calls of a turn act at once unless settings say otherwise."""
PATIENCE = 5.0
"""How many seconds a call that changes something waits for the thread of a stopped one."""

log = logging.getLogger("pegboard")


class Turn:
    """The calls of one message of a model.

    Example::

        async with Turn(ctx, board) as turn:
            turn.add(call)                        # while the model still writes
            turn.end()                            # the message is complete
            async for result in turn.results():   # in request order, each as soon as it can be
                ...
        ctx = turn.ctx

    The options are in `TurnOptions`. A turn inside a call has slots of its own.
    """

    thread: int
    token: EventLoopToken
    _group: TaskGroup

    def __init__(self, ctx: Context, host: ToolHost, **options: Unpack[TurnOptions]) -> None:
        refuse_unknown(options, TurnOptions, "A turn")
        self.host, self.limits = host, options.get("limits")
        self.cap, self.cascade = options.get("cap", CAP), options.get("cascade", True)
        self.patience = options.get("patience", PATIENCE)
        self.questions = options.get("questions") or Lock(fast_acquire=True)
        abandoned = options.get("abandoned")
        self.abandoned = AbandonedThreads() if abandoned is None else abandoned  # An empty one is false.
        self.queue = CallQueue(ctx, complete=options.get("eager") == "all")
        self.slots = Semaphore(self.cap, fast_acquire=True)
        self.acting = 0
        self.begun = False
        """Whether any call has begun to act: from then on the request must not be repeated."""
        self.ended = Event()
        self._over = False
        self._sent = False
        self._hooks_may_wait = bool(host.hooks.before_call or host.hooks.check_permission or host.hooks.classify_call)
        """Whether hooks may keep a call from acting for long: then its slot must not be counted before it is taken."""
        self._stopped = ""
        self._news: Event | None = None
        self._moved: Event | None = None

    @property
    def ctx(self) -> Context:
        """The context after every barrier so far; when all results are there, the one that the next turn sees."""
        return self.queue.ctx

    async def __aenter__(self) -> Self:
        self.thread, self.token = threading.get_ident(), current_token()
        self._group = create_task_group()
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if not self._over:
            self.cancel("because the turn was ended", force=True)
            self.end()
        try:
            return await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            if group.exceptions == (error,):
                return False  # The caller's own exception goes on as it was raised.
            raise

    def add(self, call: Call) -> None:
        """Queue a call and start it if it may start.

        Never waits: the reader of the model's stream must not wait for a tool.
        """
        if self._over:
            raise RuntimeError("This turn has ended. Start a new one for further calls.")
        bound = self._find(call.name)
        run = QueuedCall(self, call, bound, safety(bound.tool) if bound else True)
        self.queue.calls.append(run)
        if self._stopped:
            self._stop([run], self._stopped, force=False)
        else:
            self.pump()

    def change(self, change: Change) -> None:
        """Change the context for calls that have not started, as a person does who chooses another mode."""
        self.queue.ctx = self.queue.ctx.after(change)

    def end(self) -> None:
        """Say that the model has written its last call."""
        self._over = self.queue.complete = True
        self.ended.set()
        self.pump()
        self._wake()

    def cancel(self, why: str = "by the user", *, only: str | None = None, force: bool = False) -> None:
        """Stop every unfinished call, or the `only` one with this id; it is answered `<Name> was cancelled <why>`.

        Calls that are still to come are answered alike. A call whose tool blocks interruption finishes once it has
        begun to act, unless forced.
        """
        if only is None:
            self._stopped = why
        self._stop([run for run in self.queue.calls if only in (None, run.call.id)], why, force)

    def results(self) -> Results:
        """Each result in request order, as soon as it and all before it are there."""
        return Results(self)

    async def result(self, index: int) -> Result | None:
        """The result of one call by its place in the request, or None when the turn ends before it."""
        while index < len(self.queue.calls) or not self._over:
            if index < len(self.queue.calls) and (result := self.queue.calls[index].result):
                return result
            self._news = self._news or Event()
            await self._news.wait()
        return None

    def pump(self) -> None:
        """Send for a worker if a call may start and there is a slot for it."""
        if not self._sent and self.acting < self.cap and self.queue.head():
            self._sent = True
            self._group.start_soon(self._work)

    async def one_has_moved(self) -> None:
        """Wait until a call has begun to act or has left."""
        self._moved = self._moved or Event()
        await self._moved.wait()

    def moved(self) -> None:
        """Wake whoever waits for a call to begin or to leave."""
        if self._moved:
            self._moved.set()
            self._moved = None

    async def _work(self) -> None:
        """Run call after call. One scope serves until a call is cancelled: making one costs a sixth of a call."""
        self._sent = False
        run = self._next()
        while run:
            with CancelScope() as scope:
                while run and not scope.cancel_called:
                    run.scope = scope
                    self._finish(run, await self._run(run))
                    run = self._next()
            if run and run.scope is scope:
                self._finish(run, None)  # It was cancelled.
                run = self._next()

    def _next(self) -> QueuedCall | None:
        run = self.queue.next() if self.acting < self.cap else None
        if run and (self._hooks_may_wait or self.acting + 1 < self.cap):
            self.pump()  # While this call stands still, another worker takes the next; if it never does, this will.
        return run

    async def _run(self, run: QueuedCall) -> Result | None:
        left_running.set(run.thread_left_running)
        try:
            while not run.why:
                try:
                    return await dispatch(run, self.host)
                except ContextChangedError:
                    run.base = self.ctx
        except BaseException as error:
            # Ctrl-C and exits are not the tool's to swallow; everything else becomes the call's result.
            if failure_results.is_for_the_host(error):
                raise
            if isinstance(error, get_cancelled_exc_class()):
                run.last_words = "\n".join(getattr(error, "__notes__", ()))
            await checkpoint_if_cancelled()  # If the call was not cancelled, the tool raised a cancellation itself.
            return self._crashed(run, error)
        return None

    def _finish(self, run: QueuedCall, result: Result | None) -> None:
        run.end()
        run.result = result = self._answer(run, result)
        self.queue.leave(run)
        if self.cascade and result.is_error and failure_results.cascades(run, result):
            self._stopped = self._stopped or failure_results.because_of(run, result)
            later = self.queue.calls[self.queue.calls.index(run) + 1 :]
            self._stop(later, failure_results.because_of(run, result), force=False)
        self._wake()

    def _answer(self, run: QueuedCall, result: Result | None) -> Result:
        """The result as dispatch made it, unless the call was stopped or its change cannot be applied."""
        finished = result is not None
        if result is None or result.is_error:
            result = failure_results.stopped(run) or result
        if result is None:
            raise RuntimeError(f"{run.name} ended without a result and without a reason.")
        if not finished:
            report_finished(run, result, self.host.hooks)
        if result.change is not None:
            try:
                self.ctx.after(result.change)
            except Exception as error:
                result = self._crashed(run, error)
        return replace(result, notes=(*result.notes, *run.notes)) if run.notes else result

    def _stop(self, runs: Iterable[QueuedCall], why: str, force: bool) -> None:
        for run in runs:
            if run.result or run.why or (run.blocks and not force):
                continue
            run.why = why
            if not run.started:
                run.result = self._answer(run, None)
            elif run.scope:
                run.scope.cancel()
        self.pump()
        self._wake()

    def _wake(self) -> None:
        """Wake whoever waits for a result, or for a call to leave."""
        if self._over and self.queue.empty:
            self.queue.fold()
        if self._news:
            self._news.set()
            self._news = None
        self.moved()

    def _find(self, name: str) -> BoundTool | None:
        try:
            return self.host.find(name)
        except Exception:
            return None  # Its dispatch meets the same error and puts it into words.

    def _crashed(self, run: QueuedCall, error: BaseException) -> Result:
        log.error("a call to %s broke its turn's rules", run.name, exc_info=error)
        return failure_results.crashed(run, type(error).__name__)


class Results:
    """The results of a turn. An object rather than a generator: whoever stops early leaves nothing to clean up."""

    def __init__(self, turn: Turn) -> None:
        self._turn, self._index = turn, 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Result:
        result = await self._turn.result(self._index)
        if result is None:
            raise StopAsyncIteration
        self._index += 1
        return result


async def run_calls(
    host: ToolHost, calls: Iterable[Call], ctx: Context, **options: Unpack[TurnOptions]
) -> tuple[list[Result], Context]:
    """Run a finished list of calls as one turn: the results in request order, and the context after them."""
    async with Turn(ctx, host, **options) as turn:
        for call in calls:
            turn.add(call)
        turn.end()
        results = [result async for result in turn.results()]
    return results, turn.ctx
