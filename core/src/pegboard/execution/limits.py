"""How many calls at once, how long each may take: from settings to what a turn needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict

from anyio import CancelScope, Lock, current_time

from pegboard.contract import Tool
from pegboard.execution.threads import AbandonedThreads
from pegboard.settings import Settings


@dataclass(frozen=True, slots=True)
class Limits:
    """How many seconds a call may act, in all and without a sign of life. None means as long as it takes."""

    timeout: float | None = None
    idle_timeout: float | None = None


LimitsOf: TypeAlias = Callable[[Tool[Any, Any]], Limits | None]


class TurnOptions(TypedDict, total=False):
    """How a turn runs its calls."""

    cap: int
    """How many calls act at once; 10 unless set."""
    cascade: bool
    """Whether the failure of a tool that says so cancels the calls after it; True unless set."""
    eager: Literal["safe", "all"]
    """What acts before `end()`: `safe` (the default) only calls that read and are concurrency-safe, `all` every call,
    in order."""
    limits: LimitsOf | None
    """How long each tool may take."""
    questions: Lock
    """The session's lock for questions to people. A turn inside a call is given the same."""
    abandoned: AbandonedThreads
    """The session's memory of threads that could not be stopped. A turn inside a call is given the same."""
    patience: float
    """How many seconds a call that changes something waits for the thread of a stopped one; 5 unless set."""


def turn_options(settings: Settings) -> TurnOptions:
    """The options of every turn of a session."""
    return {
        "cap": settings.get("maxToolConcurrency"),
        "cascade": settings.get("errorCascade"),
        "eager": settings.get("eager"),
        "limits": limits_of(settings),
    }


def limits_of(settings: Settings) -> LimitsOf | None:
    """How long each tool may take; None where settings say nothing about it."""
    timeouts, idle = settings.get("timeouts", {}), settings.get("idleTimeouts", {})
    if not (timeouts or idle):
        return None
    return lambda tool: Limits(limit_for(tool, timeouts), limit_for(tool, idle))


def limit_for(tool: Tool[Any, Any], table: dict[str, float]) -> float | None:
    """The nearest entry: the tool, its family, everybody (`*`)."""
    for name in (tool.name, tool.family, "*"):
        if name in table:
            return table[name]
    return None


class Clock:
    """The time of one call, as the deadline of its scope. It stands still while a person is asked."""

    def __init__(self, limits: Limits, scope: CancelScope) -> None:
        self.limits, self._scope = limits, scope
        self._left = math.inf if limits.timeout is None else limits.timeout
        self._questions = 0
        self._must_end = math.inf

    @classmethod
    def start(cls, limits: Limits | None, scope: CancelScope) -> Clock | None:
        """A running clock, if there is a limit at all."""
        if limits is None or (limits.timeout is None and limits.idle_timeout is None):
            return None
        clock = cls(limits, scope)
        clock._must_end = current_time() + clock._left
        clock.show_life()
        return clock

    def show_life(self) -> None:
        """The call does something: the idle time begins anew."""
        if not self._questions and not self._scope.cancel_called:
            idle = self.limits.idle_timeout
            self._scope.deadline = min(self._must_end, math.inf if idle is None else current_time() + idle)

    def pause(self) -> None:
        """A person is asked. Several calls inside this one may ask at the same time."""
        self._questions += 1
        if self._questions == 1 and not self._scope.cancel_called:
            self._left = self._must_end - current_time()
            self._scope.deadline = math.inf

    def go_on(self) -> None:
        """A question is answered."""
        self._questions -= 1
        if not self._questions:
            self._must_end = current_time() + self._left
            self.show_life()

    def stop(self) -> None:
        """The act is over."""
        if not self._scope.cancel_called:
            self._questions += 1  # From now on no sign of life sets a deadline.
            self._scope.deadline = math.inf

    def verdict(self, name: str) -> str:
        """Why the call was stopped, as a sentence, if that was for the time it took."""
        if not self._scope.cancel_called:
            return ""
        if self.limits.timeout is not None and self._scope.deadline >= self._must_end:
            return f"{name} timed out after {self.limits.timeout:g} s."
        return f"{name} was stopped after {self.limits.idle_timeout or 0:g} s without progress."
