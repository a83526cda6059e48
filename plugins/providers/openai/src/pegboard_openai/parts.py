"""Text, images and documents as parts of a message."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

TEXTUAL = ("text/", "application/json", "application/xml")


def is_visual(block: Mapping[str, Any]) -> bool:
    """Whether a block cannot be written as text."""
    if block["type"] == "document":
        return not _media_type(block).startswith(TEXTUAL)
    return bool(block["type"] == "image")


def parts_of(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Blocks as parts. Kinds that this wire does not know are left out: they are blocks of another service."""
    return [part for block in blocks if (part := _part(block))]


def content_of(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Parts as content: one text as it is, because small servers read nothing else."""
    if not parts:
        return ""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    if block["type"] == "image":
        return {"type": "image_url", "image_url": {"url": _address(block)}}
    if block["type"] == "document":
        title = block.get("title") or "document"
        if is_visual(block):
            return {"type": "file", "file": {"filename": title, "file_data": _address(block)}}
        return {"type": "text", "text": f"{title}:\n{_text(block)}"}
    return None


def _media_type(block: Mapping[str, Any]) -> str:
    source = block["source"]
    return str(source.get("media_type") or ("text/plain" if source.get("type") == "text" else ""))


def _address(block: Mapping[str, Any]) -> str:
    source = block["source"]
    if source.get("type") == "url":
        return str(source["url"])
    return f"data:{source['media_type']};base64,{source['data']}"


def _text(block: Mapping[str, Any]) -> str:
    data = block["source"].get("data", "")
    if block["source"].get("type") == "text":
        return str(data)
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return str(data)
