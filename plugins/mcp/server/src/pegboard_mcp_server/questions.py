"""Permission over MCP: what would ask a person becomes a form of the client, or a denial that names the rule to add."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from pegboard import Allow, Answer, Ask, Context, Decision, Deny, Event, Facts, Question, Tool, hookimpl
from pegboard_mcp_server.elicitation import filled_in, schema_of
from pegboard_mcp_server.exchange import Exchange, current
from pegboard_mcp_server.mcp_client import SERVICE, McpClient

Execute = Callable[[Any, Context], Awaitable[Any]]

ONCE, SESSION, NO = "allow once", "allow until this client leaves", "deny"
LONGEST = 20_000
"""Characters of a question. What cannot be shown in full is not put to a person."""
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class McpPlugin:
    """What the board of this server does besides: it asks clients, keeps calls apart, and notes changed tools."""

    def __init__(self) -> None:
        self.tools_updated = False
        """Whether the tools have changed since the clients were last told."""

    @hookimpl
    def register_services(self) -> dict[str, object]:
        """Let tools talk to the client."""
        return {SERVICE: McpClient()}

    @hookimpl
    def observe(self, event: Event) -> None:
        """Hear of changed tools."""
        if event.kind == "tools_updated":
            self.tools_updated = True

    @hookimpl
    def check_permission(self, tool: Tool[Any, Any], facts: Facts, ctx: Context) -> Decision | None:
        """Ask for what is outside the client's roots, whatever rules allow; note what may overlap."""
        exchange = current.get()
        if exchange is None:
            return None
        if ctx.call_id == exchange.call.id:
            exchange.safe = facts.concurrency_safe
        if exchange.roots is None:
            return None
        for path in facts.paths:
            real = path.spellings[-1]
            if not any(_lies_in(real, str(root)) for root in exchange.roots):
                return Ask(f"{tool.name} would touch {real}, outside the client's roots.", layer="client-roots")
        return None

    @hookimpl(priority=-900)
    def wrap_execute(self, tool: Tool[Any, Any], execute: Execute) -> Execute:
        """Let calls of one client that are not safe together act one after another."""

        async def in_turn(args: Any, ctx: Context) -> Any:
            exchange = current.get()
            if exchange is None or ctx.call_id != exchange.call.id:
                return await execute(args, ctx)  # It was made by a tool, whose turn it is.
            async with exchange.gate.acting(safe=exchange.safe):
                return await execute(args, ctx)

        return in_turn

    @hookimpl
    async def ask_user(self, question: Question) -> Decision | Answer | None:
        """Ask through the client. Where it cannot ask, the answer is no; a form stays without an answer."""
        exchange = current.get()
        if question.form:
            return await _filled(exchange, question) if exchange and exchange.can_ask_a_person else None
        approved = exchange.approved if exchange else set[str]()
        if question.rules and approved.issuperset(question.rules):
            return Allow("Approved earlier in this session.", layer="ask", rule=question.rules[0])
        if exchange is None or not exchange.can_ask_a_person:
            return _unasked(question, "This MCP client cannot ask a person (it offers no elicitation).")
        text = "\n".join(lines_of(question))
        if len(text) > LONGEST:
            return _unasked(question, "The question is too long to show in full.")
        answer = await _answer(exchange, text, question)
        if answer is None:
            return Deny(f"{question.decision.reason} The client gave no valid answer.", layer="ask")
        choice = (answer.content or {}).get("decision") if answer.action == "accept" else NO
        if choice == SESSION and question.rules:
            approved.update(question.rules)
            return Allow("Approved by the client's user, with a rule.", layer="ask", rule=question.rules[0])
        if choice == ONCE:
            return Allow("Approved by the client's user.", layer="ask")
        words = str((answer.content or {}).get("message") or "").strip()
        return Deny(f"The user denied it and said: {words}" if words else "The user denied it.", layer="ask")


async def _filled(exchange: Exchange, question: Question) -> Decision | Answer | None:
    """The form of a tool, filled in by the client's user; None without an answer that fits."""
    text = revealed_lines(question.description)
    if len(text) > LONGEST:
        return None
    found = await _elicited(exchange, text, schema_of(question))
    if found is None or found.action == "cancel":
        return None
    if found.action != "accept":
        return Deny("The user did not answer.", layer="ask")
    filled = filled_in(question, found.content)
    return None if filled is None else Answer(Allow("Answered by the client's user.", layer="ask"), input=filled)


async def _answer(exchange: Exchange, text: str, question: Question) -> types.ElicitResult | None:
    choices = [ONCE, SESSION, NO] if question.rules else [ONCE, NO]
    schema = {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Run it?", "enum": choices, "default": NO},
            "message": {"type": "string", "title": "Message to the model", "description": "Used if you deny it."},
        },
        "required": ["decision"],
    }
    return await _elicited(exchange, text, schema)


async def _elicited(exchange: Exchange, text: str, schema: dict[str, Any]) -> types.ElicitResult | None:
    request = types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=schema))
    try:
        found: types.ElicitResult = await exchange.ask_one(request)
    except (TimeoutError, MCPError, ValidationError):
        return None
    return found


def _unasked(question: Question, why: str) -> Deny:
    """A denial that tells the client's user what would allow the call."""
    reason = f"{question.decision.reason} {why}"
    whole = (question.call.name,) if question.decision.layer == "default" else ()
    if rules := question.rules or whole:
        setting = json.dumps({"permissions": {"allow": list(rules)}}, ensure_ascii=False)
        reason += f" To allow {'it' if question.rules else 'every call to it'}, add {setting} to "
        reason += (
            f"~/.pegboard/settings.json, or start the server with {' '.join(f'--allow {rule!r}' for rule in rules)}."
        )
    else:
        reason += " No allow rule answers this question: it needs a client with elicitation."
    return Deny(reason, layer="ask", rule=question.decision.rule)


def lines_of(question: Question) -> Iterator[str]:
    """The call as it will run, with nothing hidden. What others wrote follows a bar, so that it cannot pose as ours."""
    who = f"{revealed(question.agent)}: " if question.agent else ""
    yield f"{who}{revealed(question.call.name)} asks to run:"
    yield f"  {revealed(question.description)}"
    for key, value in question.input.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        first, *rest = text.split("\n")
        yield f"  | {revealed(key)}: {revealed(first)}"
        yield from (f"  |   {revealed(line)}" for line in rest)
    if question.preview:
        yield "What it changes:"
        yield from (f"  | {revealed(line)}" for line in question.preview.split("\n"))
    yield f"Why it asks: {revealed(question.decision.reason)}"
    for rule in question.rules:
        yield f'"{SESSION}" allows: {revealed(rule)}'


def revealed_lines(text: str) -> str:
    """Several lines in which every character shows."""
    return "\n".join(map(revealed, text.split("\n")))


def revealed(text: str) -> str:
    """One line in which every character shows: `<U+202E>` for what would hide, move or turn others."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"<U+{ord(letter):04X}>" if unicodedata.category(letter) in HIDDEN and letter != "\t" else letter
        for letter in text
    )


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
