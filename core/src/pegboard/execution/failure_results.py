"""What the model reads of a call that did not come to its own end, and whose failure concerns the calls after it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pegboard.calls import Allow, Result, Text
from pegboard.context import Change
from pegboard.errors import CODES, ToolError

if TYPE_CHECKING:
    from pegboard.execution.dispatch import CallRun
    from pegboard.execution.queue import QueuedCall

LINE = 200
"""How many characters of a failure are repeated in the answers of the calls it cancelled."""


def denied(run: CallRun) -> Result:
    """The answer to a call that may not run."""
    name, decision = run.tool.name, run.decision
    reason = decision.reason if decision else ""
    words = reason if reason.startswith(f"{name} was denied") else f"{name} was denied. {reason}".strip()
    content = (Text(f"{words} {CODES['permission_denied']}"),)
    return Result(run.call.id, name, content, is_error=True, code="permission_denied", decision=decision)


def failed(run: CallRun, error: ToolError) -> Result:
    """The answer to a call that its tool, a hook or the board gave up on."""
    remedy = CODES[error.code] if error.remedy is None else error.remedy
    shows_remedy = error.code in ("internal", "lost") or error.remedy
    return Result(
        run.call.id,
        run.call.name,
        (Text(f"{error.message} {remedy}".strip() if shows_remedy else error.message),),
        is_error=True,
        code=error.code,
        value=error.value,
        decision=run.decision,
        change=error.change,
    )


def with_schema(run: CallRun, error: ToolError) -> ToolError:
    """The error about an input that does not fit, together with the schema that the model has not seen.

    The tool counts as fetched from then on. Other errors stay as they are.
    """
    bound = run.bound
    guessed = bound is not None and bound.deferred and run.args is None and error.code == "invalid_input"
    if bound is None or not guessed or bound.tool.name in run.ctx.loaded_tools:
        return error
    name, schema = bound.tool.name, json.dumps(bound.tool.input_schema, ensure_ascii=False)
    message = f"{error.message}\n{name} was not fetched before. This is the schema of its input:\n{schema}"
    return ToolError(
        message, code=error.code, remedy=error.remedy, value=error.value, change=Change(loaded_tools=(name,))
    )


def stopped(run: QueuedCall) -> Result | None:
    """The answer to a call that was stopped or took too long; None for one that ended by itself.

    It names the cause and is never worded as a failure of the call. What the tool has added to the cancellation with
    `add_note`, such as its output so far, follows.
    """
    if run.why:
        words, code = f"{run.name} was cancelled {run.why}.", "cancelled"
    elif run.clock and (words := run.clock.verdict(run.name)):
        code = "timeout"
    else:
        return None
    return _error(run, f"{words}\n{run.last_words}" if run.last_words else words, code)


def is_for_the_host(error: BaseException) -> bool:
    """Whether an exception means the whole program rather than one call."""
    kinds = (KeyboardInterrupt, GeneratorExit)
    return bool(error.subgroup(kinds)) if isinstance(error, BaseExceptionGroup) else isinstance(error, kinds)


def crashed(run: QueuedCall, reason: str) -> Result:
    """The answer to a call that broke in a way dispatch could not put into words."""
    return _error(run, f"{run.name} failed because of a bug: {reason}. {CODES['internal']}", "internal")


def because_of(run: QueuedCall, result: Result) -> str:
    """Why the calls after a failed one are cancelled, as the end of a sentence."""
    first = next((line.strip() for line in result.text.splitlines() if line.strip()), "it gave no reason")
    if len(first) > LINE:
        first = first[: LINE - 1].rstrip() + "…"
    return f"because {run.name} failed: {first.rstrip('.')}"


def cascades(run: QueuedCall, result: Result) -> bool:
    """Whether this result means that the calls after it must not run: a denial or a cancellation never does."""
    tool = run.bound.tool if run.bound else None
    if not result.is_error or tool is None or not tool.cascades or run.why:
        return False
    if result.code == "permission_denied" and result.decision and not isinstance(result.decision, Allow):
        return False
    return not (run.facts.read_only if run.has_facts else tool.read_only)


def _error(run: QueuedCall, words: str, code: str) -> Result:
    return Result(run.call.id, run.name, (Text(words),), is_error=True, code=code)
