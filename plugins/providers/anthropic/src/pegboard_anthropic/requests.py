"""A neutral request in the shape of the Messages API, with its cache markers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pegboard_anthropic.deferred_tools import with_references, without_names
from pegboard_session import Request

CACHE = {"cache_control": {"type": "ephemeral"}}
"""The API takes four of these: end of the built-in tools, end of all tools, system prompt, last message."""


def body_of(request: Request, *, defers: bool = False) -> dict[str, Any]:
    """The body of a request. Options go in as they are, and may replace anything.

    With `defers`, the service itself loads the tools that the model has fetched.
    """
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
    system = [{"type": "text", "text": part} for part in request.system if part]
    if system:
        body["system"] = [*system[:-1], {**system[-1], **CACHE}] if request.cache.system else system
    if request.tools:
        cached = request.cache.tools
        body["tools"] = [{**tool, **CACHE} if i in cached else dict(tool) for i, tool in enumerate(request.tools)]
    if defers and request.fetched:
        body["tools"], messages = with_references(request, body["tools"])
    else:
        messages = without_names(request.messages)
    if messages and request.cache.last_message:
        messages[-1] = _marked(messages[-1])
    body["messages"] = messages
    return {**body, **request.options}


def _marked(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if message["role"] != "user" or not content:
        return dict(message)
    return {**message, "content": [*content[:-1], {**content[-1], **CACHE}]}
