"""Parse a handler's answer from its exit code and output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pegboard_hooks.handler_run import BLOCKED, HandlerRun
from pegboard_hooks.protocol import ANNOUNCED, TEXT_IS_CONTEXT

MISSING: Any = object()
MAX_CONTEXT_CHARS = 10_000
"""The maximum length of one handler's text in the conversation."""

DECISIONS = ("deny", "defer", "ask", "allow")
"""The strictest first."""
FORMER = {"approve": "allow", "block": "deny", "allow": "allow", "deny": "deny", "ask": "ask"}


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of one handler. Empty fields mean no opinion."""

    problem: str = ""
    """How the handler failed; a failed handler has no effect unless its `onError` says so."""
    unclear: str = ""
    """What is invalid in an answer that contains a decision."""
    block: str = ""
    """Why it is blocked: exit code 2, or `decision: block`."""
    decision: str = ""
    reason: str = ""
    input: dict[str, Any] | None = None
    output: Any = field(default=MISSING, repr=False)
    context: str = ""
    stop: str = ""
    message: str = ""
    request: dict[str, Any] | None = None
    """The `decision` of a PermissionRequest."""
    retry: bool = False
    own: Mapping[str, Any] = field(default_factory=dict)
    """The `hookSpecificOutput` at an event that another plugin has announced."""

    @property
    def decides(self) -> bool:
        """Whether the answer changes anything."""
        said = (self.block, self.decision, self.stop, self.request, self.unclear, self.input is not None)
        return any(said) or self.output is not MISSING

    @property
    def restricts(self) -> bool:
        """Whether the answer prevents something."""
        refused = self.request is not None and self.request.get("behavior") == "deny"
        return bool(self.block or self.stop or self.decision in ("deny", "defer", "ask") or refused)


def read_reply(event: str, ran: HandlerRun, on_error: str = "") -> Reply:
    """Exit 0 is fine, and its JSON counts; 2 blocks whatever is printed; any other is an error unless JSON decides."""
    if ran.problem or ran.unable:
        return Reply(problem=ran.problem, unclear=ran.unable)
    complaint = ran.stderr.decode("utf-8", "replace").strip()
    if ran.code == BLOCKED:
        return Reply(block=cut(complaint or _reason_in(ran.stdout)) or "It gave no reason.")
    try:
        text = ran.stdout.decode("utf-8-sig").strip()  # Some programs begin with a byte order mark.
    except UnicodeDecodeError:
        return Reply(problem="It printed bytes that are not UTF-8 text.")
    said = _parsed(text)
    if said is None and text.startswith("{") and (event not in TEXT_IS_CONTEXT or on_error in ("ask", "deny")):
        return Reply(problem="It printed invalid JSON.")
    if said is None:
        plain = Reply(context=cut(text) if event in TEXT_IS_CONTEXT else "")
        return plain if ran.code == 0 else Reply(problem=_exited(ran, complaint))
    reply = _from_json(event, said)
    if ran.code == 0 or (reply.decides and (reply.restricts or on_error not in ("ask", "deny"))):
        return reply
    return replace(reply, problem=_exited(ran, complaint), decision="", input=None, output=MISSING, request=None)


def _parsed(text: str) -> dict[str, Any] | None:
    """The object that the text is, or None for plain text; a brace at the beginning is no promise of JSON."""
    if not text.startswith("{"):
        return None
    try:
        said: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said


def _reason_in(stdout: bytes) -> str:
    """The reason in the JSON of a handler that blocks with its exit code. Nothing else in it counts."""
    said = _parsed(stdout.decode("utf-8", "replace").strip()) or {}
    own = said.get("hookSpecificOutput")
    request = own.get("decision") if isinstance(own, dict) else None
    places = ((own, "permissionDecisionReason"), (request, "message"), (said, "reason"), (said, "stopReason"))
    found = (place.get(name) for place, name in places if isinstance(place, dict))
    return next((reason for reason in found if isinstance(reason, str) and reason), "")


def cut(text: str) -> str:
    """Text for the conversation, within the limit."""
    if len(text) <= MAX_CONTEXT_CHARS:
        return text
    return f"{text[:MAX_CONTEXT_CHARS]}\n({len(text) - MAX_CONTEXT_CHARS} more characters were cut.)"


def _exited(ran: HandlerRun, complaint: str) -> str:
    how = f"It exited with code {ran.code}"
    if ran.code == 127:
        how += " (no such command)"
    first = complaint.splitlines()[0][:200] if complaint else ""
    return f"{how}: {first}" if first else f"{how}."


def _from_json(event: str, said: dict[str, Any]) -> Reply:
    own = said.get("hookSpecificOutput")
    wrong = _misfit(event, said, own)
    own = own if isinstance(own, dict) else {}
    decision, unclear = _decision(event, said, own)
    reason = own.get("permissionDecisionReason") or said.get("reason")
    updated = own.get("updatedInput")
    blocks = event != "PreToolUse" and said.get("decision") == "block"
    reply = Reply(
        unclear=wrong or unclear,
        block=cut(_text(reason)) or "It gave no reason." if blocks else "",
        decision=decision,
        reason=cut(_text(reason)),
        input=updated if isinstance(updated, dict) and event == "PreToolUse" else None,
        output=_output(event, own),
        context=cut(_text(own.get("additionalContext"))),
        stop=_text(said.get("stopReason")) or "A hook stopped the session." if said.get("continue") is False else "",
        message=" ".join(filter(None, (_text(said.get("systemMessage")), _not_applied(event, own)))),
        request=own["decision"] if event == "PermissionRequest" and isinstance(own.get("decision"), dict) else None,
        retry=own.get("retry") is True,
        own=own if event in ANNOUNCED else {},
    )
    return replace(reply, input=None, output=MISSING, request=None) if reply.unclear else reply


def _misfit(event: str, said: dict[str, Any], own: Any) -> str:
    """What is wrong with the types in an answer."""
    if own is not None and not isinstance(own, dict):
        return "hookSpecificOutput is not an object."
    if own and own.get("hookEventName") not in (None, event):
        return f"hookEventName is {own['hookEventName']!r}, but the event is {event}."
    if "continue" in said and not isinstance(said["continue"], bool):
        return f"continue is {said['continue']!r}, neither true nor false."
    if own and "updatedInput" in own and not isinstance(own["updatedInput"], dict):
        return "updatedInput is not an object."
    request = own.get("decision") if own and event == "PermissionRequest" else None
    if request is not None and not (isinstance(request, dict) and request.get("behavior") in ("allow", "deny")):
        return "decision.behavior is neither allow nor deny."
    return ""


def _decision(event: str, said: dict[str, Any], own: dict[str, Any]) -> tuple[str, str]:
    """The permission decision, the stricter of the current and the former field; or what is wrong with it."""
    if event != "PreToolUse":
        return "", ""
    found = []
    if (word := own.get("permissionDecision")) is not None:
        if word not in DECISIONS:
            return "", f"permissionDecision is {word!r}, not one of allow, deny, ask, defer."
        found.append(word)
    if (word := said.get("decision")) is not None:
        if not isinstance(word, str) or word not in FORMER:
            return "", f"decision is {word!r}, neither approve nor block."
        found.append(FORMER[word])
    return (min(found, key=DECISIONS.index), "") if found else ("", "")


def _not_applied(event: str, own: dict[str, Any]) -> str:
    request = own.get("decision") if event == "PermissionRequest" else None
    wanted = isinstance(request, dict) and request.get("updatedPermissions")
    return "updatedPermissions is not supported: the hook's approval applies to this call only." if wanted else ""


def _output(event: str, own: dict[str, Any]) -> Any:
    if event != "PostToolUse":
        return MISSING
    return own.get("updatedToolOutput", own.get("updatedMCPToolOutput", MISSING))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
