"""Put what a server asks during a call to the person, through `ask_user`, or to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pegboard import Allow, Answer, Ask, Call, Context, PegboardError, Question, ToolError, put_question
from pegboard_mcp.callbacks import Asked
from pegboard_mcp.forms import FormError, form_of, problem_in

MOST_TOKENS = 4_096
ATTEMPTS = 3
"""How often a form is shown whose answer does not keep the server's limits."""

Elicited = tuple[str, dict[str, Any] | None]


async def answer(asked: Asked, ctx: Context) -> None:
    """Answer a server, in the caller's event loop. Whatever happens, it gets an answer."""
    said: Any = None
    try:
        said = await (_elicited(asked, ctx) if asked.kind == "elicit" else _sampled(asked, ctx))
    finally:
        asked.answer.set_result(said)


async def _elicited(asked: Asked, ctx: Context) -> Elicited:
    """The person's action and, for a form, what they filled in."""
    params = asked.params
    what = f"The MCP server {asked.server} asks: {params.message}"
    if url := getattr(params, "url", None):
        return _action(await _put(_question(asked, what, {"url": url}, ctx), ctx)), None
    schema = dict(params.requested_schema)
    try:
        question = replace(_question(asked, what, {}, ctx), form=form_of(schema))
    except FormError:
        return "decline", None
    for _ in range(ATTEMPTS):
        said = await _put(question, ctx)
        if _action(said) != "accept" or said is None:
            return _action(said), None
        filled = dict(said.input or {})
        problem = problem_in(filled, schema)
        if not problem:
            return "accept", filled
        question = replace(question, description=f"{what}\n{problem}")
    return "cancel", None


def _action(said: Answer | None) -> str:
    """What the protocol calls the answer. No one there is not the same as a person who does not want to."""
    if said is None:
        return "cancel"
    return "accept" if isinstance(said.decision, Allow) else "decline"


async def _sampled(asked: Asked, ctx: Context) -> tuple[str, str] | str:
    """What the model says to a server's question, with its name; or a sentence why it is not asked."""
    params = asked.params
    if any(item.type != "text" for message in params.messages for item in _items(message.content)):
        return "Only text can be put to the model here."
    prompt, system = _prompt(params.messages), params.system_prompt or ""
    what = f"The MCP server {asked.server} wants to ask the model."
    said = await _put(_question(asked, what, {"system": system, "prompt": prompt}, ctx), ctx)
    if _action(said) != "accept":
        return "The user does not let the server ask the model."
    most = min(params.max_tokens or MOST_TOKENS, MOST_TOKENS)
    try:
        text = await ctx.model.complete(prompt, system=system, max_tokens=most)
    except PegboardError as error:
        return f"The model could not be asked: {error}"
    return text, str(ctx.settings.get("model", "") or "the model of the session")


def _prompt(messages: Sequence[Any]) -> str:
    """The conversation as one prompt; who says what matters only where there is more than one message."""
    texts = ["\n".join(item.text for item in _items(message.content)) for message in messages]
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"{message.role}: {text}" for message, text in zip(messages, texts, strict=True))


def _items(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _question(asked: Asked, what: str, shown: dict[str, Any], ctx: Context) -> Question:
    """Only a person may answer it: no option, rule or hook knows what a server will ask."""
    call = Call(ctx.call_id, f"mcp__{asked.server}", shown)
    return Question(call, Ask(what, layer="forced", source=f"the MCP server {asked.server}"), what, shown)


async def _put(question: Question, ctx: Context) -> Answer | None:
    try:
        return await put_question(question, ctx)
    except ToolError:  # An answer that does not fit the form: the server hears that there is none.
        return None
