"""May this call run? Everyone is asked, the strictest answer counts, and what is left open goes to a person."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pegboard.calls import Allow, Ask, Decision, Deny, fingerprint, strictest
from pegboard.contract import resolve_paths
from pegboard.errors import SettingsError, ToolError
from pegboard.execution.hooks import TOOL, BoundHooks, failed_guard, maybe_await, named, refuse_invalid, said_by
from pegboard.extensions import Answer, Question
from pegboard.permission.decide import decide, may_classify

if TYPE_CHECKING:
    from pegboard.context import Context
    from pegboard.contract import Facts, Tool
    from pegboard.execution.dispatch import CallRun
    from pegboard.inputs import Input

log = logging.getLogger("pegboard")


async def permit(run: CallRun, hooks: BoundHooks) -> Decision:
    """The decision on the input in `run.args`; whoever is asked may have put another one there."""
    began = time.perf_counter()
    opinions = [*run.opinions, *await opinions_of(run, hooks)]
    decision = decide(run.tool, run.facts, run.ctx, opinions, hooks.modes)
    if hooks.classify_call and may_classify(decision, hooks.modes.effective(run.ctx.mode, run.ctx.settings)):
        # A classifier only replaces a question that a mode lets it answer; rules and guards have spoken already.
        decision = await _classify(run, hooks) or decision
    _tell(run, hooks, "decided", decision, began)
    if not isinstance(decision, Ask):
        return decision
    answer: Decision | None = None
    if hooks.ask_user:  # With no one to ask, nothing is previewed or suggested.
        try:
            answer = await run.ask(lambda: _put(run, hooks, decision))
        # Also when it is cancelled: the audit log must show that the question was never answered.
        except BaseException:
            _tell(run, hooks, "answered", decision, began, decision="cancelled", asked_by=decision.layer)
            raise
    said = answer or Deny(f"{decision.reason} There was no one to approve it.", layer="ask", rule=decision.rule)
    more = {"asked_by": decision.layer, "unanswered": answer is None, "approved_sha256": run.approved}
    _tell(run, hooks, "answered", said, began, **more)
    return said


def hold_to_approval(run: CallRun) -> None:
    """What a person approved is what runs: refuse an input that is no longer the one in the question."""
    # Compared by value, not identity: a hook that ran since may have changed the input in place.
    if run.approved and run.approved != fingerprint(run.tool.observable_input(run.args, run.ctx)):
        reason = f"The input of {run.tool.name} changed after it was approved, so it did not run."
        raise ToolError(reason, code="permission_denied")


async def opinions_of(run: CallRun, hooks: BoundHooks) -> list[Decision]:
    """What the tool and every `check_permission` say; None and an empty answer are no opinion."""
    tool, args, ctx = run.tool, run.args, run.ctx
    own = tool.check_permission(args, ctx)
    own = own if own is None else await maybe_await(own)
    opinions = [] if own is None else [named(own, f"the tool {tool.name}", TOOL)]
    for hook in hooks.bound("check_permission"):
        opinions += said_by(hook, await hook.ask(tool, args, run.facts, ctx, on_error=failed_guard))
    return opinions


async def _classify(run: CallRun, hooks: BoundHooks) -> Decision | None:
    """The last and dearest opinion. A classifier that fails has none, and the call asks."""
    failed = Ask("A classify_call hook failed.")
    said = await hooks.ask("classify_call", run.tool, run.args, run.ctx, on_error=lambda error, hook: failed)
    if any(opinion is failed for opinion in said):
        return None
    return strictest([replace(opinion, layer=opinion.layer or "classifier") for opinion in said])


async def _put(run: CallRun, hooks: BoundHooks, decision: Decision) -> Decision | None:
    """Ask one hook after another until one answers; None if none does."""
    question = _question(run, hooks, decision)
    for hook in hooks.ask_user:
        said: Decision | Answer | None = await maybe_await(hook(question, run.call, run.ctx))
        answer = said if isinstance(said, Answer) or said is None else Answer(said)
        if answer is None:
            continue
        run.note("", answer.stop)
        if answer.input is None or not isinstance(answer.decision, Allow):
            run.approved = question.digest if isinstance(answer.decision, Allow) else ""
            return answer.decision
        decision = await _decide_again(run, hooks, answer)
        if not isinstance(decision, Ask):
            return decision
        question = _question(run, hooks, decision)
    return None


def _question(run: CallRun, hooks: BoundHooks, decision: Decision) -> Question:
    tool, args, ctx, facts = run.tool, run.args, run.ctx, run.facts
    seen = tool.observable_input(args, ctx)
    return Question(
        run.call,
        decision,
        tool.describe(args),
        seen,
        tool=tool,
        args=args,
        digest=fingerprint(seen),
        make_preview=lambda: tool.preview(args, ctx),
        make_rules=lambda: suggested_rules(tool, args, facts, ctx, decision, hooks),
        keeper=lambda rules: keep_rules(rules, ctx, hooks),
    )


async def _decide_again(run: CallRun, hooks: BoundHooks, answer: Answer) -> Decision:
    """An input that came with an approval is approved only as far as rules, tool and plugins let it."""
    tool, was = run.tool, run.facts
    args, _ = run.validated(answer.input or {})
    refuse_invalid(run, args, hooks)
    facts = await maybe_await(tool.facts(args, run.ctx))
    if (was.read_only and not facts.read_only) or (was.concurrency_safe and not facts.concurrency_safe):
        # The turn has already decided what may run beside it.
        reason = f"The input that came with the approval would make {tool.name} do more than was approved."
        return Deny(reason, layer="ask")
    run.args = args
    run.facts, run.approved_paths = resolve_paths(facts, run.ctx)
    opinions = [*await opinions_of(run, hooks), answer.decision]
    return decide(tool, run.facts, run.ctx, opinions, hooks.modes)


def _tell(run: CallRun, hooks: BoundHooks, kind: str, decided: Decision, began: float, **more: Any) -> None:
    """Let observers know how it stands, with all that an audit needs but the input itself."""
    if not hooks.observe:
        return
    about = {
        "id": run.call.id,
        "name": run.tool.name,
        "session": run.ctx.session_id,
        "input_sha256": fingerprint(run.tool.observable_input(run.args, run.ctx)),
        "decision": decided.word,
        "layer": decided.layer,
        "reason": decided.reason,
        "rule": decided.rule,
        "source": decided.source,
        "line": decided.line,
        "ms": round((time.perf_counter() - began) * 1000, 3),
    }
    hooks.emit(kind, **{**about, **more})


def suggested_rules(
    tool: Tool[Any, Any], args: Input, facts: Facts, ctx: Context, decision: Decision, hooks: BoundHooks
) -> tuple[str, ...]:
    """The rules that would have allowed this call, from the first plugin that has any. One that fails has none."""
    for plugin, hook in hooks.named("suggest_rules"):
        try:
            rules = tuple(hook(tool, args, facts, ctx, decision) or ())
        except Exception:
            log.exception("suggest_rules of %s failed", plugin)
            continue
        if rules:
            return rules
    return ()


def keep_rules(rules: tuple[str, ...], ctx: Context, hooks: BoundHooks) -> str:
    """Keep rules that a person agreed to; the first plugin that keeps them says where."""
    for _, hook in hooks.named("keep_rules"):
        where = hook(rules, ctx)
        if where:
            return str(where)
    raise SettingsError("No plugin can save rules.", source="rules")
