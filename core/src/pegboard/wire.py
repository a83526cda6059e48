"""Results as plain data for a request: the blocks in which models are answered."""

from __future__ import annotations

import base64
from typing import Any

from pegboard.calls import Block, Image, Result, Text


def tool_result(result: Result) -> dict[str, Any]:
    """A result as the `tool_result` block that answers its call in a user message.

    Text without words is left out, as providers refuse it; a result without content is fine.
    """
    made: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = [content_block(block) for block in result.content if not isinstance(block, Text) or block.text]
    if content:
        made["content"] = content
    if result.is_error:
        made["is_error"] = True
    return made


def content_block(block: Block) -> dict[str, Any]:
    """A piece of content as a `text`, `image` or `document` block; bytes are base64."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    source = {"type": "base64", "media_type": block.media_type, "data": base64.b64encode(block.data).decode()}
    if isinstance(block, Image):
        return {"type": "image", "source": source}
    made: dict[str, Any] = {"type": "document", "source": source}
    return {**made, "title": block.title} if block.title else made
