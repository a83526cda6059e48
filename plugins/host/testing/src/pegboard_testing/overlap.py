"""The promise about calls at the same time: they do overlap, and it is as if they had run one after another."""

from __future__ import annotations

from typing import Any

import anyio

from pegboard import Context, Result, Tool
from pegboard_testing.case import BrokenPromiseError, ToolUnderTest
from pegboard_testing.harness import Case, Execute, Stand, stand
from pegboard_testing.trees import Snapshot, changed, snapshot
from pegboard_testing.watch import WatchedCall, within

TOGETHER = 4
PATIENCE = 40.0
MEETING = 2.0
"""Seconds in which all calls of a turn must have begun."""


def concurrency(subject: ToolUnderTest) -> None:
    """Calls that are declared safe do overlap, with the same effect as one after another."""
    safe = [ran for ran in subject.acted if ran.facts.concurrency_safe and not ran.result.is_error]
    chosen = sorted(safe, key=lambda ran: ran.seconds)[:TOGETHER]
    if chosen:
        within(PATIENCE, _compare, subject.case, chosen if len(chosen) > 1 else chosen * 2)


async def _compare(case: Case, alone: list[WatchedCall]) -> None:
    """Against what is known before they meet: an answer that is explained only afterwards explains nothing."""
    in_turn, tree = await _one_after_another(case, alone)
    meeting = _Meeting(len(alone))
    async with stand(case, meeting.wrap) as place:
        results = await place.run([await place.input(ran.example) for ran in alone])
        if meeting.missed:
            raise BrokenPromiseError("Its calls are declared concurrency_safe, but they never ran at the same time.")
        for ran, result, after_others in zip(alone, results, in_turn, strict=True):
            _compare_words(ran, place.words(result), after_others)
        if differs := changed(tree, snapshot(place.folder)):
            raise BrokenPromiseError(
                f"Calls at the same time leave {', '.join(differs)} different from the same calls one after another."
            )


async def _one_after_another(case: Case, alone: list[WatchedCall]) -> tuple[list[str], Snapshot]:
    async with stand(case) as place:
        given = [await place.input(ran.example) for ran in alone]
        return [place.words(await _only(place, one)) for one in given], snapshot(place.folder)


async def _only(place: Stand, given: dict[str, Any]) -> Result:
    [result] = await place.run([given])
    return result


def _compare_words(ran: WatchedCall, beside: str, after_others: str) -> None:
    """Two answers are right: the one of a call that is alone in its session, and the one of a call after the others."""
    if beside not in (ran.words, after_others):
        raise BrokenPromiseError(
            f"{ran.given!r} returns {beside[:200]!r} next to other calls, {ran.words[:200]!r} alone, "
            f"and {after_others[:200]!r} after the others."
        )


class _Meeting:
    """Holds every act back until all are there, so that they really overlap."""

    def __init__(self, count: int) -> None:
        self.count, self.missed = count, False
        self._all = anyio.Event()

    def wrap(self, tool: Tool[Any, Any], execute: Execute) -> Execute:
        async def together(args: Any, ctx: Context) -> Any:
            self.count -= 1
            if not self.count:
                self._all.set()
            with anyio.move_on_after(MEETING) as scope:
                await self._all.wait()
            self.missed = self.missed or scope.cancelled_caught
            return await execute(args, ctx)

        return together
