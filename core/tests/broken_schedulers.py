"""Schedulers that are broken on purpose: each must be caught by the checks in `scheduling`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from unittest.mock import patch

import anyio

from pegboard import Context, Facts
from pegboard.execution import overlap
from pegboard.execution.queue import CallQueue, ContextChangedError, QueuedCall
from pegboard.execution.turn import Turn


@contextmanager
def patched(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    with patch.object(owner, name, replacement):
        yield


def overtakes_open_calls() -> AbstractContextManager[None]:
    original: Callable[..., Any] = CallQueue.head

    def head(self: Any) -> Any:
        self._open = None
        return original(self)

    return patched(CallQueue, "head", head)


def starts_unsafe_calls_beside_others() -> AbstractContextManager[None]:
    def head(self: Any) -> Any:
        call = None if self._alone or self._open else self._first()
        return None if call is None or (call.safe is False and not self.complete) else call

    return patched(CallQueue, "head", head)


def does_not_hold_after_unsafe_calls() -> AbstractContextManager[None]:
    original: Callable[..., Any] = CallQueue.head

    def head(self: Any) -> Any:
        self._alone = None
        return original(self)

    return patched(CallQueue, "head", head)


def ignores_the_cap() -> AbstractContextManager[None]:
    original: Callable[..., Any] = Turn.__init__

    def init(self: Any, *given: Any, **options: Any) -> None:
        original(self, *given, **options)
        self.cap, self.slots = 100, Roomy(self.cap, fast_acquire=True)

    return patched(Turn, "__init__", init)


class Roomy(anyio.Semaphore):
    def __new__(cls, *given: Any, **options: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, cap: int, **options: Any) -> None:
        self._cap = cap

    @property
    def value(self) -> int:
        return self._cap

    def acquire_nowait(self) -> None:
        pass

    def release(self) -> None:
        pass


def cancels_earlier_calls_too() -> AbstractContextManager[None]:
    original: Callable[..., Any] = Turn._stop

    def stop(self: Any, runs: Any, why: str, force: bool) -> None:
        original(self, self.queue.calls, why, force)

    return patched(Turn, "_stop", stop)


def answers_in_order_of_completion() -> AbstractContextManager[None]:
    async def result(self: Any, index: int) -> Any:
        done = self.__dict__.setdefault("done", [])
        while len(done) <= index:
            done += [p.result for p in self.queue.calls if p.result and p.result not in done][:1]
            if len(done) <= index:
                if self._over and len(done) == len(self.queue.calls):
                    return None
                self._news = self._news or anyio.Event()
                await self._news.wait()
        return done[index]

    return patched(Turn, "result", result)


def folds_too_early() -> AbstractContextManager[None]:
    original: Callable[..., Any] = CallQueue.leave

    def leave(self: Any, call: Any) -> None:
        original(self, call)
        self.fold()

    return patched(CallQueue, "leave", leave)


def folds_too_late() -> AbstractContextManager[None]:
    def leave(self: Any, call: Any) -> None:
        self.running -= 1
        self._open = None if self._open is call else self._open
        self._alone = None if self._alone is call else self._alone

    return patched(CallQueue, "leave", leave)


def trusts_open_calls() -> AbstractContextManager[None]:
    original: Callable[..., Any] = CallQueue.settle

    def settle(self: Any, call: Any, safe: bool, alone: bool) -> None:
        original(self, call, True, False)

    return patched(CallQueue, "settle", settle)


def acts_before_the_message_is_complete() -> AbstractContextManager[None]:
    original: Callable[..., Any] = CallQueue.__init__

    def init(self: Any, ctx: Context, *, complete: bool) -> None:
        original(self, ctx, complete=True)

    return patched(CallQueue, "__init__", init)


def asks_two_people_at_once() -> AbstractContextManager[None]:
    async def ask(self: Any, question: Any) -> Any:
        return await question()

    return patched(QueuedCall, "ask", ask)


def keeps_slots() -> AbstractContextManager[None]:
    return patched(QueuedCall, "end", lambda self: None)


def acts_in_a_stale_context() -> AbstractContextManager[None]:
    original: Callable[..., Any] = QueuedCall.settle

    async def settle(self: Any, facts: Facts) -> None:
        with suppress(ContextChangedError):
            await original(self, facts)

    return patched(QueuedCall, "settle", settle)


def never_cascades() -> AbstractContextManager[None]:
    original: Callable[..., Any] = Turn.__init__

    def init(self: Any, *given: Any, **options: Any) -> None:
        original(self, *given, **{**options, "cascade": False})

    return patched(Turn, "__init__", init)


def ignores_what_calls_touch() -> AbstractContextManager[None]:
    return patched(CallQueue, "fits", lambda *given, **options: True)


def forgets_calls_that_have_left() -> AbstractContextManager[None]:
    original: Callable[..., Any] = CallQueue.fits

    def fits(self: Any, footprint: Any, safe: bool) -> bool:
        self._group = [call for call in self._group if not call.result]
        return bool(original(self, footprint, safe))

    return patched(CallQueue, "fits", fits)


def does_not_look_into_folders() -> AbstractContextManager[None]:
    return patched(overlap, "_contains", lambda folder, path: False)


def asks_out_of_order() -> AbstractContextManager[None]:
    return patched(CallQueue, "decided", True)


def overlaps_with_calls_that_want_to_be_alone() -> AbstractContextManager[None]:
    return patched(QueuedCall, "footprint", lambda self: overlap.Footprint.of(self.facts))


BROKEN = [
    overtakes_open_calls,
    starts_unsafe_calls_beside_others,
    does_not_hold_after_unsafe_calls,
    ignores_the_cap,
    cancels_earlier_calls_too,
    answers_in_order_of_completion,
    folds_too_early,
    folds_too_late,
    trusts_open_calls,
    acts_before_the_message_is_complete,
    asks_two_people_at_once,
    keeps_slots,
    acts_in_a_stale_context,
    never_cascades,
]
BROKEN_ABOUT_PATHS = [
    ignores_what_calls_touch,
    forgets_calls_that_have_left,
    does_not_look_into_folders,
    asks_out_of_order,
    overlaps_with_calls_that_want_to_be_alone,
]
