"""Combine the answers of several handlers: deny beats ask beats allow, and an allow applies only to its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pegboard import After, Allow, Answer, Ask, Before, Decision, Deny, strictest
from pegboard_hooks.events import Answered
from pegboard_hooks.handlers import Handler
from pegboard_hooks.replies import MISSING, Reply
from pegboard_session import Prompted


def before(answered: Sequence[Answered]) -> Before | None:
    """The combined answer of PreToolUse handlers. The last rewrite wins; an allow for another input does not count."""
    rewriter = next((handler for handler, reply in reversed(answered) if reply.input is not None), None)
    opinions = []
    for handler, reply in answered:
        opinion = _opinion(handler, reply)
        if opinion and not (isinstance(opinion, Allow) and rewriter not in (None, handler)):
            opinions.append(opinion)
    rewritten = next((reply.input for handler, reply in answered if handler is rewriter), None)
    made = Before(rewritten, strictest(opinions), _context(answered), _stop(answered))
    return made if made != Before() else None


def _opinion(handler: Handler, reply: Reply) -> Decision | None:
    if reply.stop:
        return _decided(Deny, reply.stop, handler)
    if reply.block:
        return _decided(Deny, reply.block, handler)
    if reply.decision == "deny":
        return _decided(Deny, reply.reason or f"{_named(handler)} denied it.", handler)
    if reply.problem:
        kind = {"ask": Ask, "deny": Deny}.get(handler.on_error)
        return _decided(kind, f"{_named(handler)} failed. {reply.problem}", handler) if kind else None
    if reply.unclear:
        kind = {"allow": None, "deny": Deny}.get(handler.on_error, Ask)
        reason = f"{_named(handler)} returned an invalid answer. {reply.unclear}"
        return _decided(kind, reason, handler) if kind else None
    if reply.decision == "defer":
        return _decided(Ask, reply.reason or f"{_named(handler)} leaves the decision to a person.", handler)
    if reply.decision == "ask":
        return _decided(Ask, reply.reason or f"{_named(handler)} requires approval.", handler)
    if reply.decision == "allow":
        return _decided(Allow, reply.reason or f"{_named(handler)} allowed it.", handler)
    return None


def _decided(kind: type[Decision], reason: str, handler: Handler) -> Decision:
    return kind(reason, layer="hooks", rule=handler.name, source=handler.source)


def _named(handler: Handler) -> str:
    return f"The {handler.event} hook {handler.name!r}"


def request(answered: Sequence[Answered]) -> Answer | None:
    """The answer of PermissionRequest handlers on behalf of a person; None leaves the question to the person."""
    answers = [answer for handler, reply in answered if (answer := _request(handler, reply))]
    chosen = strictest([answer.decision for answer in answers])
    return next((answer for answer in answers if answer.decision is chosen), None)


def _request(handler: Handler, reply: Reply) -> Answer | None:
    if reply.stop:
        return Answer(_decided(Deny, reply.stop, handler), stop=reply.stop)
    said = reply.request
    if reply.problem or reply.unclear or said is None:
        failed = (reply.problem or reply.unclear) and handler.on_error == "deny"
        reason = f"{_named(handler)} failed. {reply.problem or reply.unclear}"
        return Answer(_decided(Deny, reason, handler)) if failed else None
    message = said.get("message") if isinstance(said.get("message"), str) else ""
    if said["behavior"] == "allow":
        other = said.get("updatedInput")
        allowed = _decided(Allow, message or f"{_named(handler)} approved it.", handler)
        return Answer(allowed, other if isinstance(other, dict) else None)
    denied = message or f"{_named(handler)} denied it."
    return Answer(_decided(Deny, denied, handler), stop=denied if said.get("interrupt") is True else "")


def after(answered: Sequence[Answered]) -> After | None:
    """The combined answer after a call: a new output (the last wins), notes, or an end of the session."""
    outputs: list[Any] = [reply.output for _, reply in answered if reply.output is not MISSING]
    value = outputs[-1] if outputs else None
    remarks = [reply.block for _, reply in answered if reply.block]
    if any(reply.retry for _, reply in answered):
        remarks.append("A hook says that you may retry this call.")
    context = "\n".join(filter(None, (*remarks, _context(answered))))
    made = After(value, replaces=bool(outputs), context=context, stop=_stop(answered))
    return made if made != After() else None


def batch(answered: Sequence[Answered]) -> After | None:
    """The combined answer of PostToolBatch handlers: context, or a block, which ends the conversation."""
    stop = next((reply.block or reply.stop for _, reply in answered if reply.block or reply.stop), "")
    context = _context(answered)
    return After(context=context, stop=stop) if context or stop else None


def prompted(answered: Sequence[Answered]) -> Prompted | None:
    """The combined answer of UserPromptSubmit handlers: the prompt blocked, or context added."""
    if why := why_blocked(answered):
        return Prompted(block=why)
    context = _context(answered)
    return Prompted(context=context) if context else None


def why_blocked(answered: Sequence[Answered]) -> str:
    """The reason of the first handler that prevents what is about to happen, by its answer or by its `onError`."""
    for handler, reply in answered:
        failed = (reply.problem or reply.unclear) if handler.on_error in ("ask", "deny") else ""
        why = reply.block or reply.stop or (f"{_named(handler)} failed. {failed}" if failed else "")
        if why:
            return why
    return ""


def back_to_work(answered: Sequence[Answered]) -> str | None:
    """Why the model may not stop yet: a block, or context that it has to heed. A handler that ends the session wins."""
    if _stop(answered):
        return None
    return "\n".join(words for _, reply in answered for words in (reply.block, reply.context) if words) or None


def _context(answered: Sequence[Answered]) -> str:
    return "\n".join(reply.context for _, reply in answered if reply.context)


def _stop(answered: Sequence[Answered]) -> str:
    return next((reply.stop for _, reply in answered if reply.stop), "")
