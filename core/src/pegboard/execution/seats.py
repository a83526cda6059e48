"""What the dispatch of one call may ask of its turn: to overlap or be alone, a person's answer, a slot, more time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyio import CancelScope, WouldBlock, current_time, from_thread
from anyio.lowlevel import checkpoint

from pegboard.calls import Call, Decision, Result
from pegboard.context import Context, Progress
from pegboard.contract import Facts, Tool
from pegboard.errors import ToolError
from pegboard.execution import answers
from pegboard.execution.line import Place
from pegboard.execution.threads import Stray

if TYPE_CHECKING:
    from pegboard.execution.scheduler import Turn


@dataclass(frozen=True, slots=True)
class Limits:
    """How many seconds a call may act, in all and without a sign of life. None means as long as it takes."""

    timeout: float | None = None
    idle_timeout: float | None = None


class Moved(BaseException):
    """The context changed while an open call waited to be alone: its hooks and facts have to look again.

    It is no `Exception` because it has to unwind a whole dispatch.
    """


class TurnSeat(Place):
    """A place in the line with everything that takes time."""

    scope: CancelScope | None = None
    begun: bool = False
    notes: tuple[str, ...] = ()
    _since: float = 0.0
    _holds: bool = False
    _left: bool = False
    _limits: Limits | None = None
    _must_end: float = math.inf

    def __init__(self, turn: Turn, call: Call, tool: Tool[Any, Any] | None, safe: bool | None, ctx: Context) -> None:
        super().__init__(call, tool, safe, ctx)
        self._turn = turn

    async def settle(self, facts: Facts) -> None:
        """The input is final. A call that turns out not to be safe waits here until it is alone."""
        self.facts, line = facts, self._turn.line
        was_open = self.safe is None
        if was_open:
            line.settle(self, facts.concurrency_safe)
            self._turn.pump()
        if not line.complete and not (facts.read_only and facts.concurrency_safe):
            await self._turn.ended.wait()
        if was_open and not self.safe:
            while line.running > 1:
                await self._turn.silence()
            line.fold()
            if line.ctx != self.ctx:
                raise Moved

    async def ask(self, question: Callable[[], Awaitable[Decision | None]]) -> Decision | None:
        """Put a question to a person, one at a time, without keeping others from running."""
        self._turn.pump()
        async with self._turn.questions:
            return await question()

    async def begin(self) -> None:
        """Take a slot. Only now: whoever waits for another call or a person while holding one stops everybody."""
        turn = self._turn
        if turn.strays and not self.safe:
            await self._outlast_strays()
        try:
            turn.slots.acquire_nowait()
        except WouldBlock:
            await turn.slots.acquire()
        self._holds = True
        turn.acting += 1
        if self.why:
            await checkpoint()  # Cancelled in the moment in which the slot came free: it must not act.
        self.begun = turn.begun = True
        if turn.limits and self.tool:
            self._start_clock(turn.limits(self.tool))

    def end(self) -> None:
        """The act is over: its slot and its time belong to others; what follows are hooks."""
        if self._limits and self.scope and not self.scope.cancel_called:
            self.scope.deadline = math.inf
        if self._holds:
            self._holds = False
            self._turn.acting -= 1
            self._turn.slots.release()
            if self._turn.desk.hooks.after_call:
                self._turn.pump()  # They may take their time; without them this worker takes the next call at once.

    @property
    def blocks(self) -> bool:
        """Whether it must not be interrupted: only a call that has begun to act can say so."""
        return self.begun and self.tool is not None and self.tool.interrupt_behavior == "block"

    def overdue(self) -> Result | None:
        """The answer to this call if it was stopped for the time it took."""
        if not (self._limits and self.scope and self.scope.cancel_called):
            return None
        if self._limits.timeout is not None and self.scope.deadline >= self._must_end:
            return answers.timed_out(self, self._limits.timeout)
        return answers.fell_silent(self, self._limits.idle_timeout or 0)

    def watched(self) -> Context:
        """The context for this call. Making one costs more than a small tool, so only where somebody listens."""
        self._since = self._since or time.perf_counter()
        turn, threaded = self._turn, self.tool is not None and not self.tool.is_async
        if not (threaded or turn.limits or turn.desk.hooks.observe):
            return self.ctx
        return self.ctx.reporting_to(self._report)

    def emit_finished(self, said: str) -> None:
        """Tell observers of a call that dispatch could not bring to its end."""
        ms = round((time.perf_counter() - self._since) * 1000, 3) if self._since else 0.0
        self._turn.desk.hooks.emit(
            "call_finished", id=self.call.id, name=self.call.name, decision="", is_error=True, ms=ms, said=said
        )

    def left_running(self, ended: threading.Event) -> None:
        """The call is stopped but its thread goes on."""
        self._left = True
        if self.facts and not self.facts.read_only:
            paths = (*self.facts.writes, *self.facts.deletes)
            self._turn.strays.add(Stray(self.call.id, self.name, ended, paths))

    async def _outlast_strays(self) -> None:
        """Do not change things side by side with a stopped call; if it goes on for too long, say so and go ahead."""
        turn = self._turn
        for stray in await turn.strays.outlast(turn.patience):
            note = f"{stray.name} was stopped earlier but is still at work: it may change things during this call."
            self.notes = (*self.notes, note)
            turn.desk.hooks.emit("call_abandoned", id=stray.id, name=stray.name)
            if files := self.ctx.services.files:
                for path in stray.paths:
                    files.forget(path)

    def _start_clock(self, limits: Limits | None) -> None:
        if limits is None or (limits.timeout is None and limits.idle_timeout is None):
            return
        self._limits = limits
        if limits.timeout is not None:
            self._must_end = current_time() + limits.timeout
        self._show_life()

    def _show_life(self) -> None:
        limits, scope = self._limits, self.scope
        if limits and scope:
            idle = math.inf if limits.idle_timeout is None else current_time() + limits.idle_timeout
            scope.deadline = min(self._must_end, idle)

    def _report(self, progress: Progress) -> None:
        if threading.get_ident() == self._turn.thread:
            self._heard(progress)
        elif self._left:
            raise ToolError(f"{self.name} was stopped.", code="cancelled")  # The one way to end a thread: from inside.
        else:
            from_thread.run_sync(self._heard, progress, token=self._turn.token)

    def _heard(self, progress: Progress) -> None:
        if self.result or self.why:
            return
        if self._holds:
            self._show_life()
        if self.ctx.on_progress:
            self.ctx.on_progress(progress)
        data = dict(progress.data)
        self._turn.desk.hooks.emit("call_progress", id=self.call.id, message=progress.message, data=data)
