"""A result as the block that answers its call: built once, for the conversation and for the transcript."""

from __future__ import annotations

import base64
from typing import Any

from pegboard import Block, Image, Result, Text

NOTHING = Text("")
"""Services refuse a block without words; a result without blocks is fine."""


def tool_result(result: Result) -> dict[str, Any]:
    """A result as the block that answers its call."""
    made: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = [block_of(block) for block in result.content if block != NOTHING]
    if content:
        made["content"] = content
    if result.is_error:
        made["is_error"] = True
    elif result.change and result.change.loaded_tools:
        made["fetched"] = list(result.change.loaded_tools)
    return made


def block_of(block: Block) -> dict[str, Any]:
    """A piece of content as plain data."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    source = {"type": "base64", "media_type": block.media_type, "data": base64.b64encode(block.data).decode()}
    if isinstance(block, Image):
        return {"type": "image", "source": source}
    made: dict[str, Any] = {"type": "document", "source": source}
    return {**made, "title": block.title} if block.title else made
