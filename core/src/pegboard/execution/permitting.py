"""May this call run? Everyone is asked, the strictest answer counts, and what is left open goes to a person."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pegboard.calls import Allow, Ask, Call, Decision, Deny, strictest
from pegboard.context import Context
from pegboard.contract import Facts, Tool
from pegboard.errors import ToolError
from pegboard.execution.bound import BoundHooks, settled
from pegboard.extensions import Answer, Question
from pegboard.host.beneath import pin
from pegboard.inputs import Input, validate
from pegboard.permission.audit import fingerprint
from pegboard.permission.modes import may_classify
from pegboard.permission.pipeline import judge
from pegboard.permission.suggest import suggest

log = logging.getLogger("pegboard")


class Asks(Protocol):
    """Who lets a call ask a person: its seat."""

    async def ask(self, question: Callable[[], Awaitable[Decision | None]]) -> Decision | None:
        """Put a question to a person."""
        ...


@dataclass(slots=True)
class Heard:
    """What hooks said around one call: remarks for the model, and a reason to stop after this turn."""

    remarks: list[str] = field(default_factory=list)
    stop: str = ""
    approved: str = ""
    """The hash of the input that a person approved."""
    judged: Mapping[str, bool] | None = None
    """The real paths that the decision is about, and whether each may be changed."""

    def take(self, context: str, stop: str) -> None:
        """Keep what one hook said; the first reason to stop is the one that is named."""
        if context:
            self.remarks.append(context)
        self.stop = self.stop or stop


def refuse_invalid(tool: Tool[Any, Any], args: Input, ctx: Context, hooks: BoundHooks) -> None:
    """Raise what the tool or a plugin finds wrong with an input that fits the schema."""
    wrong = tool.validate_input(args)
    for check in hooks.validate_input:
        if wrong:
            break
        wrong = check(tool, args, ctx)
    if wrong:
        raise ToolError(f"{tool.name}: {wrong}")


async def permit(
    call: Call,
    tool: Tool[Any, Any],
    args: Input,
    facts: Facts,
    ctx: Context,
    hooks: BoundHooks,
    opinions: Sequence[Decision],
    seat: Asks,
    heard: Heard,
) -> tuple[Input, Decision]:
    """The decision, and the input that it is about: whoever is asked may have answered with another one."""
    began = time.perf_counter()
    opinions = [*opinions, *await opinions_of(tool, args, ctx, hooks)]
    decision = judge(tool, facts, ctx, opinions, args)
    if may_classify(decision, ctx.mode, ctx.settings):
        decision = await _classify(tool, args, ctx, hooks) or decision
    inquiry = _Inquiry(call, tool, args, facts, ctx, hooks, heard)
    inquiry.tell("decided", decision, began)
    if not isinstance(decision, Ask):
        return args, decision
    try:
        answer = await seat.ask(lambda: inquiry.put(decision))
    except BaseException:
        inquiry.tell("answered", decision, began, decision="cancelled", asked_by=decision.layer)
        raise
    said = answer or Deny(f"{decision.reason} Nobody was there to approve it.", layer="ask", rule=decision.rule)
    more = {"asked_by": decision.layer, "unanswered": answer is None, "approved_sha256": heard.approved}
    inquiry.tell("answered", said, began, **more)
    return inquiry.args, said


def hold_to_approval(heard: Heard, tool: Tool[Any, Any], args: Input, ctx: Context) -> None:
    """What a person approved is what runs: refuse an input that is no longer the one in the question."""
    if heard.approved and heard.approved != fingerprint(tool.observable_input(args, ctx)):
        reason = f"The input of {tool.name} changed after it was approved, so it did not run."
        raise ToolError(reason, code="permission_denied")


async def opinions_of(tool: Tool[Any, Any], args: Input, ctx: Context, hooks: BoundHooks) -> list[Decision]:
    """What the tool and the plugins think of an input. A guard that fails denies."""
    opinions: list[Decision] = []
    own = await settled(tool.check_permission(args, ctx))
    if own is not None:
        opinions.append(own)
    for hook in hooks.check_permission:
        try:
            said = await settled(hook(tool, args, ctx))
        except Exception as error:
            log.exception("a check_permission hook failed")
            said = Deny(f"A check_permission hook failed: {type(error).__name__}.", layer="hooks")
        if said is not None:
            opinions.append(said)
    return opinions


async def _classify(tool: Tool[Any, Any], args: Input, ctx: Context, hooks: BoundHooks) -> Decision | None:
    """The last and dearest opinion. A classifier that fails has none, and the call asks."""
    opinions: list[Decision] = []
    for hook in hooks.classify_call:
        try:
            said: Decision | None = await settled(hook(tool, args, ctx))
        except Exception:
            log.exception("a classify_call hook failed")
            return None
        if said is not None:
            opinions.append(replace(said, layer=said.layer or "classifier"))
    return strictest(opinions)


@dataclass(slots=True)
class _Inquiry:
    """A call that somebody has to approve, with the input that it will run with."""

    call: Call
    tool: Tool[Any, Any]
    args: Input
    facts: Facts
    ctx: Context
    hooks: BoundHooks
    heard: Heard

    async def put(self, decision: Decision) -> Decision | None:
        """Ask one after another until somebody answers; None when nobody does."""
        question = self._question(decision)
        for hook in self.hooks.ask_user:
            said: Decision | Answer | None = await settled(hook(question, self.call, self.ctx))
            answer = said if isinstance(said, Answer) or said is None else Answer(said)
            if answer is None:
                continue
            self.heard.take("", answer.stop)
            if answer.input is None or not isinstance(answer.decision, Allow):
                self.heard.approved = question.digest if isinstance(answer.decision, Allow) else ""
                return answer.decision
            decision = await self._judge_again(answer)
            if not isinstance(decision, Ask):
                return decision
            question = self._question(decision)
        return None

    def _question(self, decision: Decision) -> Question:
        seen = self.tool.observable_input(self.args, self.ctx)
        return Question(
            self.call,
            decision,
            self.tool.describe(self.args),
            seen,
            self.tool.preview(self.args, self.ctx),
            self.tool,
            self.args,
            digest=fingerprint(seen),
            rules=suggest(self.tool, self.args, self.facts, self.ctx, decision),
        )

    def tell(self, kind: str, decided: Decision, began: float, **more: Any) -> None:
        """Let observers know how it stands, with all that an audit needs but the input itself."""
        if not self.hooks.observe:
            return
        about = {
            "id": self.call.id,
            "name": self.tool.name,
            "session": self.ctx.session_id,
            "input_sha256": fingerprint(self.tool.observable_input(self.args, self.ctx)),
            "decision": decided.word,
            "layer": decided.layer,
            "reason": decided.reason,
            "rule": decided.rule,
            "source": decided.source,
            "line": decided.line,
            "ms": round((time.perf_counter() - began) * 1000, 3),
        }
        self.hooks.emit(kind, **{**about, **more})

    async def _judge_again(self, answer: Answer) -> Decision:
        """An input that came with an approval is approved only as far as rules, tool and plugins let it."""
        tool, ctx = self.tool, self.ctx
        args, _ = validate(tool.name, tool.input, answer.input or {})
        refuse_invalid(tool, args, ctx, self.hooks)
        facts: Facts = await settled(tool.facts(args, ctx))
        was = self.facts
        if (was.read_only and not facts.read_only) or (was.concurrency_safe and not facts.concurrency_safe):
            # The turn has already decided what may run beside it.
            reason = f"The input that came with the approval would make {tool.name} do more than it was asked about."
            return Deny(reason, layer="ask")
        facts, self.heard.judged = pin(facts, ctx)
        self.args, self.facts = args, facts
        return judge(tool, facts, ctx, [*await opinions_of(tool, args, ctx, self.hooks), answer.decision], args)
