"""The results of a turn as one message: within the budget of the conversation, in the order of the calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pegboard import Result
from pegboard.hosting import text_size
from pegboard_session.history import Block
from pegboard_session.results import tool_result

if TYPE_CHECKING:
    from pegboard_session.loop import Session

BUDGET = 200_000
"""How many characters all results of one turn may put into the conversation."""


def append_results(session: Session, results: Sequence[Result]) -> None:
    """All results of a turn go back in one message, in request order, with what there is to say besides."""
    if not results:
        return
    fitted = _within_budget(session, results)
    blocks = [tool_result(result) for result in fitted]
    for before, now, block in zip(results, fitted, blocks, strict=True):
        if now is not before:
            session.write("result", block=block)
    remarks: list[Block] = [{"type": "text", "text": words} for result in results for words in result.messages]
    remarks += session.conversation.take_news("results")
    if remarks:
        session.write("user", content=remarks)
    session.conversation.append("user", [*blocks, *remarks])


def _within_budget(session: Session, results: Sequence[Result]) -> Sequence[Result]:
    budget = session.board.settings.get("resultBudgetChars", BUDGET)
    if sum(text_size(result.content) for result in results) <= budget:
        return results
    return session.board.results.fit_turn(results, budget)
