"""The line in which the calls of a turn stand, and the one rule about who may start. Nothing here waits."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pegboard.calls import Call, Result
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.execution.dispatch import Seat


class Place(Seat):
    """A call's place in the line, with all that is known about the call so far."""

    facts: Facts | None = None
    started: bool = False
    why: str = ""
    """Why it was cancelled, as the end of a sentence."""
    result: Result | None = None

    def __init__(self, call: Call, tool: Tool[Any, Any] | None, safe: bool | None, ctx: Context) -> None:
        self.call, self.ctx = call, ctx
        self.tool = tool
        """None when there is no such tool; dispatch says so."""
        self.safe = safe
        """Whether it may overlap with its neighbours; None as long as nobody knows."""

    @property
    def name(self) -> str:
        """What the call is called in sentences."""
        return self.tool.name if self.tool else self.call.name


P = TypeVar("P", bound=Place)


class Line(Generic[P]):
    """The head of the line may start when nothing that runs conflicts with it. Nothing overtakes.

    A call that is not safe conflicts with everything. A call that is still open, because its facts depend on an input
    that a hook may change, conflicts with everything after it.
    """

    def __init__(self, ctx: Context, *, complete: bool) -> None:
        self.ctx = ctx
        self.places: list[P] = []
        self.running = 0
        self.complete = complete
        """Whether calls that are not safe may start at all."""
        self._head = self._folded = 0
        self._alone: P | None = None
        self._open: P | None = None

    def head(self) -> P | None:
        """The head of the line, if it may start now."""
        if self._alone or self._open:
            return None
        place = self._first()
        if place is None or (place.safe is False and (self.running or not self.complete)):
            return None
        return place

    def next(self) -> P | None:
        """Take the head out of the line, if it may start now."""
        place = self.head()
        if place is None:
            return None
        if place.safe is None:
            self._open = place
        elif not place.safe:
            self._alone = place
            self.fold()
        self._head += 1
        self.running += 1
        place.started, place.ctx = True, self.ctx
        return place

    def settle(self, place: P, safe: bool) -> None:
        """The call is no longer open. If it is not safe, nothing starts any more until it has left."""
        place.safe = safe
        self._open = None
        if not safe:
            self._alone = place

    def leave(self, place: P) -> None:
        """The call has its result."""
        self.running -= 1
        if self._open is place:
            self._open = None
        if self._alone is place:
            self._alone = None
            if not self.running:
                self.fold()

    def fold(self) -> None:
        """Apply what finished calls changed, in request order.

        Called at barriers only: between neighbours that overlap nothing moves, or what a call sees would depend on
        which of its neighbours was faster.
        """
        while self._folded < len(self.places) and (result := self.places[self._folded].result):
            self.ctx = self.ctx.after(result.change)
            self._folded += 1

    @property
    def empty(self) -> bool:
        """Whether every call has its result."""
        return not self.running and self._first() is None

    def _first(self) -> P | None:
        """The first call that has neither started nor been cancelled."""
        while self._head < len(self.places) and self.places[self._head].result:
            self._head += 1
        return self.places[self._head] if self._head < len(self.places) else None
