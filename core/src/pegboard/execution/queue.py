"""The queue of a turn's calls: the one rule about who may start, and what a queued call waits for on its way."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from anyio import CancelScope, WouldBlock, from_thread
from anyio.lowlevel import checkpoint

from pegboard.calls import Call, Result
from pegboard.context import Context, Progress
from pegboard.contract import Facts
from pegboard.errors import ToolError
from pegboard.execution.dispatch import BoundTool, CallRun, T
from pegboard.execution.limits import Clock
from pegboard.execution.overlap import Footprint
from pegboard.execution.threads import AbandonedThread

if TYPE_CHECKING:
    from pegboard.execution.turn import Turn


class CallQueue:
    """The head of the queue may start when nothing that runs conflicts with it. Nothing overtakes. Nothing here waits.

    Calls that overlap form a group: safe ones, and those that name all they touch and touch different things. A call
    that fits into no group is alone. A call that is still open, because its facts depend on an input that a hook may
    change, conflicts with everything after it. Whether a call joins depends on all calls of the group, also on those
    that have left it: what a call sees must not depend on which of its neighbours was faster.
    """

    def __init__(self, ctx: Context, *, complete: bool) -> None:
        self.ctx = ctx
        self.calls: list[QueuedCall] = []
        self.running = 0
        self.complete = complete
        """Whether calls that are not safe may start at all."""
        self._head = self._folded = 0
        self._alone: QueuedCall | None = None
        self._open: QueuedCall | None = None
        self._group: list[QueuedCall] = []
        self.changing = False
        """Whether a call of the group is not safe: then the others have to fit to it."""

    def head(self) -> QueuedCall | None:
        """The head of the queue, if it may start now."""
        if self._alone or self._open:
            return None
        call = self._first()
        if call is None or (call.safe is False and (self.running or not self.complete)):
            return None
        return call

    def next(self) -> QueuedCall | None:
        """Take the head out of the queue, if it may start now."""
        call = self.head()
        if call is None:
            return None
        if call.safe and self.changing:
            call.safe = None  # It is safe beside others like it; beside this group its facts decide.
        if call.safe is None:
            self._open = call
        elif call.safe:
            self._group.append(call)
        else:
            self._alone = call
            self.fold()
        self._head += 1
        self.running += 1
        call.started, call.base = True, self.ctx
        return call

    def settle(self, call: QueuedCall, safe: bool, alone: bool) -> None:
        """The call is no longer open. It joins the group, or it is alone until it has left."""
        call.safe, self._open = safe, None
        if alone:
            self._alone = call
        else:
            self._group.append(call)
            self.changing = self.changing or not safe

    @property
    def decided(self) -> bool:
        """Whether every call of the group acts or has its result, so that the next question is the next in order."""
        return all(call.begun or call.result for call in self._group)

    def fits(self, footprint: Footprint | None, safe: bool) -> bool:
        """Whether a call may overlap with every call of the group."""
        for call in self._group:
            if (safe and call.safe) or not call.has_facts:
                continue  # One without facts was refused before it could touch anything.
            other = call.footprint()
            if footprint is None or other is None or footprint.conflicts_with(other):
                return False
        return True

    def leave(self, call: QueuedCall) -> None:
        """The call has its result."""
        self.running -= 1
        if self._open is call:
            self._open = None
        if self._alone is call:
            self._alone = None
            if not self.running:
                self.fold()

    def fold(self) -> None:
        """Apply what finished calls changed, in request order.

        Called at barriers only: between neighbours that overlap nothing moves, or what a call sees would depend on
        which of its neighbours was faster.
        """
        self._group, self.changing = [], False
        while self._folded < len(self.calls) and (result := self.calls[self._folded].result):
            self.ctx = self.ctx.after(result.change)
            self._folded += 1

    @property
    def empty(self) -> bool:
        """Whether every call has its result."""
        return not self.running and self._first() is None

    def _first(self) -> QueuedCall | None:
        """The first call that has neither started nor been cancelled."""
        while self._head < len(self.calls) and self.calls[self._head].result:
            self._head += 1
        return self.calls[self._head] if self._head < len(self.calls) else None


class ContextChangedError(BaseException):
    """The context changed while an open call waited to be alone: its hooks and facts have to look again.

    It is no `Exception` because it has to unwind a whole dispatch.
    """


class QueuedCall(CallRun):
    """A call of a turn: it may have to wait until it is alone, for a person who is busy, and for a slot."""

    scope: CancelScope | None = None
    started: bool = False
    begun: bool = False
    why: str = ""
    """Why it was cancelled, as the end of a sentence."""
    last_words: str = ""
    """What the tool added to its cancellation."""
    result: Result | None = None
    notes: tuple[str, ...] = ()
    clock: Clock | None = None
    _holds_slot: bool = False
    _thread_left: bool = False

    def __init__(self, turn: Turn, call: Call, bound: BoundTool | None, safe: bool | None) -> None:
        super().__init__(call, turn.ctx, bound)
        self.safe = safe
        """Whether it may overlap with its neighbours; None while that is not known."""
        self._turn = turn

    @property
    def name(self) -> str:
        """What the call is called in sentences."""
        return self.bound.tool.name if self.bound else self.call.name

    @property
    def blocks(self) -> bool:
        """Whether it must not be interrupted: only a call that has begun to act can say so."""
        return self.begun and self.tool.interrupt_behavior == "block"

    async def settle(self, facts: Facts) -> None:
        """The input is final. A call that cannot overlap with its neighbours waits here until it is alone."""
        self.facts, self.has_facts = facts, True
        turn, queue = self._turn, self._turn.queue
        if self.safe is None:
            safe = facts.concurrency_safe
            alone = await self._wait_for_others(safe) if queue.changing or not safe else False
            queue.settle(self, safe, alone)
            turn.pump()
        # A call that changes something waits for the whole answer: until then, the request may have to be repeated.
        if not queue.complete and not (facts.read_only and facts.concurrency_safe):
            await turn.ended.wait()

    async def _wait_for_others(self, safe: bool) -> bool:
        """Wait until this call may join its group or start the next; say whether it has to be alone.

        Meanwhile nothing behind it starts. The calls before it are decided first: questions keep their order, and what
        a person answers to one counts for the next.
        """
        turn, queue = self._turn, self._turn.queue
        if not safe and not queue.complete:
            await turn.ended.wait()
        while not queue.decided:
            await turn.one_has_moved()
        footprint = self.footprint()
        alone = not safe and footprint is None
        if alone or not queue.fits(footprint, safe):
            while queue.running > 1:
                await turn.one_has_moved()
            queue.fold()
        if queue.ctx != self.base:
            raise ContextChangedError
        return alone

    def footprint(self) -> Footprint | None:
        """What it touches, or None where that is not known, or where nothing may overlap with it for another reason."""
        return None if self.alone or self.tool.cascades else Footprint.of(self.facts)

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """Put a question to a person, one at a time, without keeping others from running or time from standing still.

        A call that acts asks, too: for one that its tool makes.
        """
        began = time.perf_counter()
        self._turn.pump()
        if self.clock:
            self.clock.pause()
        try:
            async with self._turn.questions:
                return await question()
        finally:
            self.asked_seconds += time.perf_counter() - began
            if self.clock:
                self.clock.go_on()

    async def begin(self) -> None:
        """Take a slot. Only now: whoever waits for another call or a person while holding one stops everybody."""
        turn = self._turn
        if turn.abandoned and not self.safe:
            await self._outlast_abandoned()
        try:
            turn.slots.acquire_nowait()
        except WouldBlock:
            await turn.slots.acquire()
        self._holds_slot = True
        turn.acting += 1
        if self.why:
            await checkpoint()  # Cancelled in the moment in which the slot came free: it must not act.
        self.begun = turn.begun = True
        turn.moved()
        if turn.limits and self.scope:
            self.clock = Clock.start(turn.limits(self.tool), self.scope)

    def end(self) -> None:
        """The act is over: its slot and its time belong to others; what follows are hooks."""
        if self.clock:
            self.clock.stop()
        if self._holds_slot:
            self._holds_slot = False
            self._turn.acting -= 1
            self._turn.slots.release()
            if self._turn.host.hooks.after_call:
                self._turn.pump()  # They may take their time; without them this worker takes the next call at once.

    def context(self) -> Context:
        """The context for this call, with a listener for its signs of life."""
        turn = self._turn
        heard = turn.limits or turn.host.hooks.observe or (self.bound and not self.bound.tool.is_async)
        return self.base.for_call(self.call.id, self._report if heard else self.base.on_progress)

    def thread_left_running(self, ended: threading.Event) -> None:
        """The call is stopped but its thread goes on."""
        self._thread_left = True
        if self.has_facts and not self.facts.read_only:
            paths = (*self.facts.writes, *self.facts.deletes)
            self._turn.abandoned.add(AbandonedThread(self.call.id, self.name, ended, paths))

    async def _outlast_abandoned(self) -> None:
        """Do not change things side by side with a stopped call; if it goes on for too long, say so and go ahead."""
        turn = self._turn
        for thread in await turn.abandoned.outlast(turn.patience):
            note = f"{thread.name} was stopped earlier but is still running: it may change things during this call."
            self.notes = (*self.notes, note)
            turn.host.hooks.emit("call_abandoned", id=thread.id, name=thread.name, session=self.base.session_id)
            if files := self.base.services.files:
                for path in thread.paths:
                    files.forget(path)

    def _report(self, progress: Progress) -> None:
        if threading.get_ident() == self._turn.thread:
            self._hear(progress)
        elif self._thread_left:
            raise ToolError(f"{self.name} was stopped.", code="cancelled")  # The one way to end a thread: from inside.
        else:
            from_thread.run_sync(self._hear, progress, token=self._turn.token)

    def _hear(self, progress: Progress) -> None:
        if self.result or self.why:
            return
        if self.clock and self._holds_slot:
            self.clock.show_life()
        if self.base.on_progress:
            self.base.on_progress(progress)
        data, session = dict(progress.data), self.base.session_id
        self._turn.host.hooks.emit(
            "call_progress", id=self.call.id, message=progress.message, data=data, session=session
        )
