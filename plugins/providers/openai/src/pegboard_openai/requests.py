"""A neutral request in the shape of the Chat Completions API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pegboard import ProviderError
from pegboard_openai.parts import content_of, is_visual, parts_of
from pegboard_session import ModelOptions, Request

REASONING = "reasoning"
"""The type of our opaque block: what the model thought, under the server's own name for it."""


def body_of(request: Request, *, limit_field: str, returns_reasoning: bool) -> dict[str, Any]:
    """The body of a request. Options go in as they are, and may replace anything."""
    if not request.model:
        raise ProviderError(
            "No model is set. Name one with --model, with the setting openai.model or in OPENAI_MODEL.",
            kind="invalid_request",
        )
    body: dict[str, Any] = {"model": request.model, limit_field: request.max_tokens}
    messages: list[dict[str, Any]] = []
    if system := "\n\n".join(part for part in request.system if part):
        messages.append({"role": "system", "content": system})
    for message in request.messages:
        if message["role"] == "assistant":
            messages.append(_assistant(message["content"], returns_reasoning))
        else:
            messages += _user(message["content"])
    body["messages"] = messages
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    whole = {"stream": True, "stream_options": {"include_usage": True}, **_options(request.wanted)}
    return {**body, **whole, **request.options}


def headers_of(request: Request) -> dict[str, str]:
    """The headers that were asked for with this request."""
    return {name.lower(): value for name, value in request.wanted.headers.items()}


def _options(wanted: ModelOptions) -> dict[str, Any]:
    """The options that this wire has words for; budgets of thinking, features on trial and the like it has not."""
    made: dict[str, Any] = {
        "reasoning_effort": wanted.effort,
        "service_tier": wanted.service_tier,
        "stop": list(wanted.stop_sequences),
        "metadata": dict(wanted.metadata),
    }
    if wanted.output_schema is not None:
        answer = {"name": "answer", "schema": wanted.output_schema}
        made["response_format"] = {"type": "json_schema", "json_schema": answer}
    return {name: value for name, value in made.items() if value}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": tool["name"], "description": tool.get("description", ""), "parameters": tool["input_schema"]}
    if "strict" in tool:
        function["strict"] = tool["strict"]
    return {"type": "function", "function": function}


def _assistant(blocks: Sequence[Mapping[str, Any]], returns_reasoning: bool) -> dict[str, Any]:
    """What the model said and called. An answer of calls alone has no content."""
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
    if calls:
        message["tool_calls"] = calls
    elif not text:
        message["content"] = ""
    if returns_reasoning:
        for block in blocks:
            if block["type"] == REASONING:
                message[block["field"]] = message.get(block["field"], "") + block["text"]
    return message


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(block["input"], ensure_ascii=False)
    return {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": arguments}}


def _user(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A message for each result, then one for everything else.

    A result may contain text only, so pictures and documents of results follow in the message of the user.
    """
    messages: list[dict[str, Any]] = []
    rest: list[Mapping[str, Any]] = []
    for block in blocks:
        if block["type"] == "tool_result":
            content = block.get("content") or ()
            visual = [item for item in content if is_visual(item)]
            messages.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": _result(block, visual)})
            if visual:
                rest += [{"type": "text", "text": f"From the result of {block['tool_use_id']}:"}, *visual]
        else:
            rest.append(block)
    if rest or not messages:
        messages.append({"role": "user", "content": content_of(parts_of(rest))})
    return messages


def _result(block: Mapping[str, Any], visual: Sequence[Any]) -> str:
    parts = parts_of([item for item in block.get("content") or () if not is_visual(item)])
    text = "\n".join(part["text"] for part in parts)
    if visual:
        text = f"{text}\n".lstrip() + "(Images and documents of this result are in the next message.)"
    return f"Error: {text}" if block.get("is_error") and not text.startswith("Error") else text
