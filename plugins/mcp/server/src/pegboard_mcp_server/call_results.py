"""A result as MCP content: text, pictures, sound, documents, and the value as structured content where it is small."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import mcp_types as types

from pegboard import Block, Image, Result, Text, jsonable

MOST_STRUCTURED = 30_000
"""Characters of JSON up to which a value is sent beside the text; a longer one would defeat the cutting of the text."""


def call_result(result: Result, most: int | None) -> types.CallToolResult:
    """The result for the client. `most` is the limit of the tool's text, which holds for its value too."""
    content = [content_block(block, result.call_id) for block in result.content]
    content += [types.TextContent(text=sound(message)) for message in result.messages]
    return types.CallToolResult(
        content=content,
        is_error=result.is_error,
        structured_content=None if result.is_error else _structured(result, most),
    )


def content_block(block: Block, call_id: str) -> types.ContentBlock:
    """One piece of content. A document that is text stays readable; one that is sound becomes audio."""
    if isinstance(block, Text):
        return types.TextContent(text=sound(block.text))
    data = base64.b64encode(block.data).decode()
    if isinstance(block, Image):
        return types.ImageContent(data=data, mime_type=block.media_type)
    if block.media_type.startswith("audio/"):
        return types.AudioContent(data=data, mime_type=block.media_type)
    uri = f"pegboard://result/{quote(call_id)}/{quote(sound(block.title or 'document'))}"
    text = _text(block.data, block.media_type)
    contents: types.TextResourceContents | types.BlobResourceContents
    if text is None:
        contents = types.BlobResourceContents(uri=uri, mime_type=block.media_type, blob=data)
    else:
        contents = types.TextResourceContents(uri=uri, mime_type=block.media_type, text=text)
    return types.EmbeddedResource(resource=contents)


def _text(data: bytes, media_type: str) -> str | None:
    if not media_type.startswith("text/") and media_type != "application/json":
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _structured(result: Result, most: int | None) -> dict[str, Any] | None:
    """The value, if it is an object that fits and has nothing in it but what the text shows, too."""
    if not all(isinstance(block, Text) for block in result.content):
        return None
    try:
        value = sound(jsonable(result.value))
    except ValueError:  # It has names that cannot be written. The text is enough.
        return None
    if not isinstance(value, dict):
        return None
    size = len(json.dumps(value, ensure_ascii=False))
    return value if size <= min(most or MOST_STRUCTURED, MOST_STRUCTURED) else None


def sound(value: Any) -> Any:
    """The value with texts that UTF-8 can write: the name of a file may have bytes that are no characters."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: sound(item) for key, item in value.items()}
    return [sound(item) for item in value] if isinstance(value, list) else value
