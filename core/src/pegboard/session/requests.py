"""What is sent to a model: system prompt, tools, messages, and where the provider may cache."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from pegboard.calls import Block, Image, Result, Text

CACHE = {"cache_control": {"type": "ephemeral"}}
NOTHING = Text("")
"""The API refuses a block without words; a result without blocks is fine."""


def build(
    *,
    model: str,
    max_tokens: int,
    system: Sequence[str],
    tools: Sequence[dict[str, Any]],
    breakpoints: Sequence[int],
    messages: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """One request. The four cache breakpoints: end of the built-in tools, end of all tools, system, last message."""
    request: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    parts = [{"type": "text", "text": part} for part in system if part]
    if parts:
        request["system"] = [*parts[:-1], {**parts[-1], **CACHE}]
    if tools:
        request["tools"] = [{**tool, **CACHE} if i in breakpoints else tool for i, tool in enumerate(tools)]
    request["messages"] = [*messages[:-1], _marked(messages[-1])]
    return request


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if message["role"] != "user" or not content:
        return message
    return {**message, "content": [*content[:-1], {**content[-1], **CACHE}]}


def tool_result(result: Result) -> dict[str, Any]:
    """A result as the block that answers its call."""
    made: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = [block_of(block) for block in result.content if block != NOTHING]
    if content:
        made["content"] = content
    if result.is_error:
        made["is_error"] = True
    return made


def block_of(block: Block) -> dict[str, Any]:
    """A piece of content in the shape of the wire."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    source = {"type": "base64", "media_type": block.media_type, "data": base64.b64encode(block.data).decode()}
    if isinstance(block, Image):
        return {"type": "image", "source": source}
    made: dict[str, Any] = {"type": "document", "source": source}
    return {**made, "title": block.title} if block.title else made
