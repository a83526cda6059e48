"""Put what a server asks during a call to the person, through `ask_user`, or to the model."""

from __future__ import annotations

from typing import Any

from pegboard import Allow, Answer, Ask, Call, Context, Decision, Question
from pegboard.hosting import maybe_await
from pegboard_mcp.callbacks import Asked
from pegboard_mcp.forms import defaults, fits

MOST_TOKENS = 4_096


async def answer(asked: Asked, ctx: Context) -> None:
    """Answer a server, in the caller's event loop. Whatever happens, it gets an answer."""
    said: Any = None
    try:
        said = await (_elicited(asked, ctx) if asked.kind == "elicit" else _sampled(asked, ctx))
    finally:
        asked.answer.set_result(said)


async def _elicited(asked: Asked, ctx: Context) -> tuple[str, dict[str, Any] | None]:
    """The person's action and, for a form, what they filled in."""
    params = asked.params
    url = getattr(params, "url", None)
    schema = {} if url else dict(params.requested_schema)
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
