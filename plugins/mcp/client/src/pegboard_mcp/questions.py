"""Put what a server asks during a call to the person, through `ask_user`, or to the model."""

from __future__ import annotations

from typing import Any

from pegboard import Allow, Answer, Ask, Call, Context, Decision, Question
from pegboard.hosting import maybe_await
from pegboard_mcp.callbacks import Asked
from pegboard_mcp.forms import defaults, fits
from pegboard_session import Heard, announce

MOST_TOKENS = 4_096


async def answer(asked: Asked, ctx: Context) -> None:
    """Answer a server, in the caller's event loop. Whatever happens, it gets an answer."""
    said: Any = None
    try:
        said = await (_elicited(asked, ctx) if asked.kind == "elicit" else _sampled(asked, ctx))
    finally:
        asked.answer.set_result(said)


Form = tuple[str, dict[str, Any] | None]


async def _elicited(asked: Asked, ctx: Context) -> Form:
    """What the server is told: by the person, or in their place by those who hear the events around the question."""
    params = asked.params
    url = getattr(params, "url", None)
    schema = {} if url else dict(params.requested_schema)
    about: dict[str, Any] = {"mcp_server_name": asked.server, "mode": "url" if url else "form"}
    if identity := getattr(params, "elicitation_id", None):
        about["elicitation_id"] = identity
    asks = {"message": params.message, **({"url": url} if url else {"requested_schema": schema})}
    heard = _changed(await announce("Elicitation", {**about, **asks}, ctx), None, schema)
    action, content = heard or await _asked_person(asked, url, schema, ctx)
    if heard and heard[0] != "accept":
        return heard
    result = {**about, "action": action, "content": content}
    return _changed(await announce("ElicitationResult", result, ctx), content, schema) or (action, content)


def _changed(heard: Heard, content: dict[str, Any] | None, schema: dict[str, Any]) -> Form | None:
    """The answer of a hook; None if it leaves the question as it is. A form that does not fit is not sent."""
    if heard.block:
        return "decline", None
    action = heard.answer.get("action")
    if action != "accept":
        return (action, None) if action else None
    filled = dict(heard.answer.get("content") or content or {})
    if not schema:
        return "accept", None
    return ("accept", filled) if fits(filled, schema) else ("cancel", None)


async def _asked_person(asked: Asked, url: str | None, schema: dict[str, Any], ctx: Context) -> Form:
    """The person's action and, for a form, what they filled in."""
    params = asked.params
    shown = {"url": url} if url else defaults(schema)
    what = f"The MCP server {asked.server} asks: {params.message}"
    said = await _put(asked, what, shown, ctx)
    if said is None:
        return "cancel", None
    decision, content = (said.decision, said.input) if isinstance(said, Answer) else (said, None)
    if not isinstance(decision, Allow):
        return "decline", None
    if url:
        return "accept", None
    filled = dict(content if content is not None else shown)
    return ("accept", filled) if fits(filled, schema) else ("cancel", None)


async def _sampled(asked: Asked, ctx: Context) -> tuple[str, str] | None:
    """What the model says to a server's question, once the person has seen it."""
    params = asked.params
    texts = [_text(message.content) for message in params.messages]
    prompt, system = "\n\n".join(texts), params.system_prompt or ""
    what = f"The MCP server {asked.server} wants to ask the model."
    said = await _put(asked, what, {"system": system, "prompt": prompt}, ctx)
    decision = said.decision if isinstance(said, Answer) else said
    if not isinstance(decision, Allow):
        return None
    most = min(params.max_tokens or MOST_TOKENS, MOST_TOKENS)
    return await ctx.model.complete(prompt, system=system, max_tokens=most), "the session's model"


async def _put(asked: Asked, what: str, shown: dict[str, Any], ctx: Context) -> Decision | Answer | None:
    """Ask one hook after another until one answers; None if none does."""
    call = Call(ctx.call_id, f"mcp__{asked.server}", shown)
    question = Question(call, Ask(what, layer="forced", source=f"the MCP server {asked.server}"), what, shown)
    for hook in getattr(getattr(ctx.policy, "hooks", None), "ask_user", ()):
        said: Decision | Answer | None = await maybe_await(hook(question, call, ctx))
        if said is not None:
            return said
    return None


def _text(content: Any) -> str:
    items = content if isinstance(content, list) else [content]
    return "\n".join(getattr(item, "text", f"[{item.type}]") for item in items)
