"""`pegboard run --until-complete`: a run without a person, and the limits that end it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from pegboard import Board
    from pegboard_session import Outcome, Session

REQUIRED, TOOL = "complete.required", "task_complete"
NOT_COMPLETED = "not_completed"


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    limits = parser.add_argument_group("how long it goes on")
    limits.add_argument("--until-complete", action="store_true", help="go on until the model calls task_complete")
    limits.add_argument("--max-turns", type=int, metavar="N", help="the maximum number of requests per prompt")
    limits.add_argument("--max-time", type=int, metavar="S", help="the maximum number of seconds per prompt")
    limits.add_argument("--max-cost", type=float, metavar="C", help="the maximum cost, in the currency of the prices")


def check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse what cannot be meant."""
    for name in ("max_turns", "max_time"):
        value = getattr(given, name)
        if value is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be 1 or more")
    if given.max_cost is not None and not 0 < given.max_cost < float("inf"):
        parser.error("--max-cost must be more than 0")
    if given.until_complete and given.json_schema:
        parser.error("--until-complete ends with a summary and cannot be combined with --json-schema")


def layer(given: argparse.Namespace) -> dict[str, Any]:
    """What the options say, as settings."""
    named = (("maxTurns", given.max_turns), ("timeBudget", given.max_time), ("costBudget", given.max_cost))
    made = {key: value for key, value in named if value}
    return {**made, "complete": {"required": True}} if given.until_complete else made


def refusal(given: argparse.Namespace, board: Board) -> str:
    """Why a run cannot go on until it is complete, or nothing."""
    if not given.until_complete or board.pool.get(TOOL):
        return ""
    return f"--until-complete needs the tool {TOOL}. {board.pool.why_absent(TOOL)}"


def with_completion(outcome: Outcome, session: Session) -> Outcome:
    """How a prompt was answered: one that had to be completed and just ended was not."""
    is_required = session.board.settings.get(REQUIRED, False)
    if is_required and outcome.stopped_by == "end" and outcome.turns:  # A slash command takes no turn.
        return replace(outcome, stopped_by=NOT_COMPLETED)
    return outcome
