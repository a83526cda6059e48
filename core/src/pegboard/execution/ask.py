"""A tool asks the person something in the middle of its call."""

from __future__ import annotations

import time
from dataclasses import replace

from pegboard.calls import Allow, Decision, fingerprint
from pegboard.context import Context
from pegboard.errors import ToolError
from pegboard.execution.dispatch import within
from pegboard.execution.hooks import maybe_await
from pegboard.extensions import Answer, Question


async def put_question(question: Question, ctx: Context) -> Answer | None:
    """Ask the person something in the middle of a call. The time of the call stands still meanwhile.

    The answer's decision is an `Allow` with the form filled in, or a `Deny` of one who does not want to answer. None
    means that no one is there, or that the mode does not ask.
    """
    run = within.get()
    if run is None or not run.hooks.modes.effective(ctx.mode, ctx.settings).asks:
        return None
    began, answer, said = time.perf_counter(), None, "cancelled"

    async def first_answer() -> Answer | None:
        for hook in run.hooks.ask_user:
            found = await maybe_await(hook(question, question.call, ctx))
            if found is not None and (answer := _fitting(question, found)) is not None:
                return answer
        return None

    try:
        answer = await run.ask(first_answer)
        said = answer.decision.word if answer else "deny"
    finally:
        run.hooks.emit(
            "answered",
            id=question.call.id,
            name=question.call.name,
            session=ctx.session_id,
            input_sha256=fingerprint(dict(question.input)),
            decision=said,
            layer=answer.decision.layer if answer else "ask",
            reason=answer.decision.reason if answer else question.decision.reason,
            asked_by=question.decision.layer,
            unanswered=answer is None,
            ms=round((time.perf_counter() - began) * 1000, 3),
        )
    if answer:
        run.note("", answer.stop)
    return answer


def _fitting(question: Question, said: Decision | Answer) -> Answer | None:
    """The answer with the form filled in. A yes that leaves open what was asked is no answer: the next one is asked."""
    answer = said if isinstance(said, Answer) else Answer(said)
    if not question.form or not isinstance(answer.decision, Allow):
        return answer
    try:
        return replace(answer, input=question.fill(answer.input or {}))
    except ValueError as error:
        if answer.input is None:
            return None
        raise ToolError(f"The answer does not fit the question. {error}", code="failed") from None
