"""What the model reads of a call that did not come to its own end, and whose failure concerns the calls after it."""

from __future__ import annotations

from pegboard.calls import Allow, Result, Text
from pegboard.errors import CODES
from pegboard.execution.line import Place

LINE = 200
"""How many characters of a failure are repeated in the answers of the calls it cancelled."""


def cancelled(place: Place) -> Result:
    """The answer to a call that somebody stopped: it names the cause and is never worded as a failure of its own."""
    return _stopped(place, f"{place.name} was cancelled {place.why}.", "cancelled")


def timed_out(place: Place, seconds: float) -> Result:
    """The answer to a call that took too long."""
    return _stopped(place, f"{place.name} timed out after {seconds:g} s.", "timeout")


def fell_silent(place: Place, seconds: float) -> Result:
    """The answer to a call that showed no sign of life for too long."""
    return _stopped(place, f"{place.name} was stopped after {seconds:g} s without a sign of life.", "timeout")


def crashed(place: Place, reason: str) -> Result:
    """The answer to a call that broke in a way dispatch could not put into words."""
    return _stopped(place, f"{place.name} failed because of a bug: {reason}. {CODES['internal']}", "internal")


def because_of(place: Place, result: Result) -> str:
    """Why the calls after a failed one are cancelled, as the end of a sentence."""
    first = next((line.strip() for line in result.text.splitlines() if line.strip()), "it gave no reason")
    if len(first) > LINE:
        first = first[: LINE - 1].rstrip() + "…"
    return f"because {place.name} failed: {first.rstrip('.')}"


def cascades(place: Place, result: Result) -> bool:
    """Whether this result means that the calls after it must not run: a denial or a cancellation never does."""
    tool = place.tool
    if not result.is_error or tool is None or not tool.cascades or place.why:
        return False
    if result.code == "permission_denied" and result.decision and not isinstance(result.decision, Allow):
        return False
    return not (place.facts.read_only if place.facts else tool.read_only)


def _stopped(place: Place, words: str, code: str) -> Result:
    return Result(place.call.id, place.name, (Text(words),), is_error=True, code=code)
