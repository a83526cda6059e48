"""Put what a server asks during a call to the person, through `ask_user`, or to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pegboard import Allow, Answer, Ask, Call, Context, PegboardError, Question, ToolError, put_question
from pegboard_mcp.callbacks import Asked
from pegboard_mcp.forms import FormError, form_of, problem_in
from pegboard_session import EventAnswer, announce

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
        asked.settle(said)


async def _elicited(asked: Asked, ctx: Context) -> Elicited:
    """What the server is told: by the person, or in their place by those who hear the events around the question."""
    params = asked.params
    url = getattr(params, "url", None)
    schema = {} if url else dict(params.requested_schema)
    about: dict[str, Any] = {"mcp_server_name": asked.server, "mode": "url" if url else "form"}
    if identity := getattr(params, "elicitation_id", None):
        about["elicitation_id"] = identity
    asks = {"message": params.message, **({"url": url} if url else {"requested_schema": schema})}
    heard = _changed(await announce("Elicitation", {**about, **asks}, ctx), None, schema)
    action, content = heard or await _asked_person(asked, ctx)
    if heard and heard[0] != "accept":
        return heard
    result = {**about, "action": action, "content": content}
    return _changed(await announce("ElicitationResult", result, ctx), content, schema) or (action, content)


def _changed(heard: EventAnswer, content: dict[str, Any] | None, schema: dict[str, Any]) -> Elicited | None:
    """The answer of a hook; None if it leaves the question as it is. A form that does not fit is not sent."""
    if heard.block:
        return "decline", None
    action = heard.answer.get("action")
    if action != "accept":
        return (action, None) if action else None
    filled = dict(heard.answer.get("content") or content or {})
    if not schema:
        return "accept", None
    return ("accept", filled) if _fits(filled, schema) else ("cancel", None)


def _fits(filled: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether an answer that no form has checked is one that the form would take."""
    try:
        form = {field.name: field for field in form_of(schema)}
    except FormError:
        return False
    if filled.keys() - form.keys() or any(field.required and name not in filled for name, field in form.items()):
        return False
    return not any(form[name].problem(value) for name, value in filled.items()) and not problem_in(filled, schema)


async def _asked_person(asked: Asked, ctx: Context) -> Elicited:
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
