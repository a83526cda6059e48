"""What every tool promises about its calls. A check that fails raises a sentence."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pegboard import Call, Output, ToolError, Turn
from pegboard.hosting import Limits, fitting, text_size
from pegboard_testing.case import BrokenPromiseError, ToolUnderTest
from pegboard_testing.harness import Case, Example, stand
from pegboard_testing.trees import changed
from pegboard_testing.watch import Act, TookTooLongError, WatchedCall, watch, within

IN_TIME = 2.0
"""Seconds in which a stopped call must be answered."""
SHORT = 0.3
"""The time limit under which a call is put to see that it keeps one."""
STALL = 0.25
"""Seconds for which an awaiting tool may keep everybody else waiting."""
UNLIMITED = 200_000
"""Characters that even a tool without a limit keeps to: they are what a whole turn may put into a conversation."""


def answers(subject: ToolUnderTest) -> None:
    """Every accepted input is answered, by a result or by an error message; never by a bug."""
    for ran in subject.runs:
        if not ran.result.content:
            raise BrokenPromiseError(f"{ran.given!r} got no result.")
        if ran.result.code == "internal" and "because of a bug" in ran.result.text:
            raise BrokenPromiseError(f"{ran.given!r} failed because of a bug: {ran.result.text}")
    if all(ran.result.is_error for ran in subject.runs):  # Then the promises about results were checked on nothing.
        first = subject.runs[0].result
        raise BrokenPromiseError(
            f"No call succeeded. Add examples of calls that do. The result of the first was: {first.text}"
        )


def output(subject: ToolUnderTest) -> None:
    """The returned value fits the declared output type."""
    for ran in subject.acted:
        for returned in ran.returned:
            value = returned.value if isinstance(returned, Output) else returned
            try:
                fitting(subject.tool, value, "The tool")
            except ToolError as error:
                raise BrokenPromiseError(f"{ran.given!r}: {error}") from None


def size(subject: ToolUnderTest) -> None:
    """A result stays within its size limit; a tool without one stays within the limit of a turn."""
    limit = subject.tool.max_result_chars
    most = UNLIMITED if limit is None else limit
    for ran in subject.runs:
        length = text_size(ran.result.content)
        if length > most:
            whose = "its limit" if limit is not None else "the limit of a turn; set max_result_chars, or cut the result"
            raise BrokenPromiseError(f"{ran.given!r} returns {length} characters. That is more than {most}, {whose}.")


def input_kept(subject: ToolUnderTest) -> None:
    """A call does not change its arguments: hooks, logs and retries read them afterwards."""
    for ran in subject.acted:
        if ran.args_changed:
            raise BrokenPromiseError(f"The call changes its own arguments, given {ran.given!r}. Work on a copy.")


def read_only(subject: ToolUnderTest) -> None:
    """A call that says it only reads changes nothing."""
    for ran in subject.acted:
        touched = changed(ran.before, ran.after)
        if ran.facts.read_only and touched:
            raise BrokenPromiseError(f"{ran.given!r} is declared read-only, but it changed {', '.join(touched)}.")


def writes(subject: ToolUnderTest) -> None:
    """A call changes only what its facts say it writes or deletes: path rules depend on that."""
    for ran in subject.acted:
        if ran.facts.read_only or ran.facts.open_world:
            continue
        for name in changed(ran.before, ran.after):
            if not _declared(ran, ran.folder / name):
                raise BrokenPromiseError(f"{ran.given!r} changed {name}, which is not among the writes in its facts.")


def _declared(ran: WatchedCall, path: Path) -> bool:
    """Folders on the way to a declared file may be created, and what is in a declared folder belongs to it."""
    named = (*ran.facts.writes, *ran.facts.deletes)
    return any(path == place or path.is_relative_to(place) or place.is_relative_to(path) for place in named)


def event_loop(subject: ToolUnderTest) -> None:
    """An async tool lets others run: it never blocks the event loop."""
    if not subject.tool.is_async:
        return
    for ran in subject.acted:
        stall = ran.stall
        for _ in range(2):  # A busy machine stalls now and then; a blocking call does it every time.
            if stall > STALL:
                stall = min(stall, within(2 * IN_TIME + 10 * stall, watch, subject.case, ran.example).stall)
        if stall > STALL:
            ms = round(stall * 1000)
            raise BrokenPromiseError(
                f"{ran.given!r} blocks the event loop for {ms} ms. Write a plain function, or do the work in a thread."
            )


def cancellation(subject: ToolUnderTest) -> None:
    """A cancelled call is answered in time."""
    if subject.tool.interrupt_behavior == "block":
        return
    for ran in _slowest(subject):
        took = _timed(_cancel, subject.case, ran.example)
        if took > IN_TIME:
            raise BrokenPromiseError(f"{ran.given!r} ended {_seconds(took)} after it was cancelled. {ADVICE}")


def timeout(subject: ToolUnderTest) -> None:
    """A call that times out is answered in time."""
    for ran in _slowest(subject):
        took = _timed(_hurry, subject.case, ran.example)
        if took > SHORT + IN_TIME:
            raise BrokenPromiseError(f"{ran.given!r} takes {_seconds(took)} despite a limit of {SHORT} s. {ADVICE}")


ADVICE = f"Do not catch the cancellation, and clean up within {IN_TIME:g} s."


def _slowest(subject: ToolUnderTest) -> list[WatchedCall]:
    return sorted(subject.acted, key=lambda ran: -ran.seconds)[:2]


def _seconds(took: float) -> str:
    return f"more than {took:.0f} s" if took >= 5 * IN_TIME else f"{took:.1f} s"


def _timed(function: Callable[..., Awaitable[float]], *args: Any) -> float:
    try:
        return within(5 * IN_TIME, function, *args)
    except TookTooLongError:
        return 5 * IN_TIME


async def _cancel(case: Case, example: Example) -> float:
    act = Act()
    async with stand(case, act.wrap) as place:
        given = await place.input(example)
        async with Turn(place.ctx, place) as turn:
            turn.add(Call("call-0", case.tool.name, given))
            turn.end()
            await act.began.wait()
            began = time.perf_counter()
            turn.cancel("by the kit")
            _ = [result async for result in turn.results()]
            return time.perf_counter() - began


async def _hurry(case: Case, example: Example) -> float:
    async with stand(case) as place:
        given = await place.input(example)
        began = time.perf_counter()
        await place.run([given], limits=lambda _: Limits(SHORT))
        return time.perf_counter() - began
