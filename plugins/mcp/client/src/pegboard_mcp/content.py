"""What a server returns, as blocks for the model."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from pegboard import Block, Document, Image, Text

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST_BINARY = 20_000_000


def blocks_of(content: list[Any], structured: Any = None) -> list[Block]:
    """The blocks of a result. Structured content is shown only where no text says the same."""
    made = [block for item in content for block in _blocks(item)]
    if structured is not None:
        said = json.dumps(structured, ensure_ascii=False, indent=1)
        if not any(isinstance(block, Text) and _same(block.text, structured) for block in made):
            made.append(Text(said))
    return made or [Text("(no content)")]


def resource_blocks(contents: list[Any]) -> list[Block]:
    """The contents of a resource."""
    return [block for item in contents for block in _embedded(item)] or [Text("(no content)")]


def _blocks(item: Any) -> list[Block]:
    if item.type == "text":
        return [Text(item.text)]
    if item.type == "image":
        return [_binary(item.data, item.mime_type, "image")]
    if item.type == "audio":
        return [Text(f"[audio, {item.mime_type}, {len(item.data) * 3 // 4} bytes: it cannot be shown here]")]
    if item.type == "resource_link":
        about = " ".join(filter(None, (item.mime_type, item.description)))
        named = f"{item.name}: {about}" if about else item.name
        return [Text(f"[resource {item.uri} ({named}). Read it with ReadMcpResource.]")]
    if item.type == "resource":
        return _embedded(item.resource)
    return [Text(f"[content of the unknown type {item.type!r}]")]


def _embedded(resource: Any) -> list[Block]:
    if getattr(resource, "text", None) is not None:
        return [Text(resource.text)]
    return [_binary(resource.blob, resource.mime_type or "application/octet-stream", str(resource.uri))]


def _binary(data: str, media_type: str, what: str) -> Block:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Text(f"[{what}, {media_type}: its data is not valid base64]")
    if len(raw) <= MOST_BINARY:
        if media_type in PICTURES:
            return Image(raw, media_type)
        if media_type == "application/pdf":
            return Document(raw, media_type, what)
    return Text(f"[{what}, {media_type}, {len(raw)} bytes: it cannot be shown here]")


def _same(text: str, structured: Any) -> bool:
    try:
        return bool(json.loads(text) == structured)
    except (ValueError, RecursionError):
        return False
