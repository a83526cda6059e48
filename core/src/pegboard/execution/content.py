"""From what a tool returned to what the model reads.

A value must be what the tool said it returns; anything else is a bug, reported and not passed on. Media is looked at
before it enters a conversation: one broken picture must not poison a session. That check is structural and needs no
library; tools that decode pictures do so in their own plugin.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from pegboard.calls import Block, Document, Image, Text
from pegboard.contract import Tool
from pegboard.errors import ToolError
from pegboard.execution.hooks import BoundHooks

MOST = 5_000_000
"""What a provider takes, in encoded bytes."""


def fitting(tool: Tool[Any, Any], value: Any, who: str) -> Any:
    """The value as the tool's output type; a hook may hand in the plain data of a model."""
    wanted = tool.output
    if wanted is Any or (isinstance(wanted, type) and isinstance(value, wanted)):
        return value
    if isinstance(wanted, type) and not issubclass(wanted, BaseModel) and wanted in PLAIN:
        raise _misfit(tool, value, who)
    try:
        return _adapter(wanted).validate_python(value)
    except ValidationError:
        raise _misfit(tool, value, who) from None


PLAIN = (str, int, float, bool, bytes, list, dict)


def _misfit(tool: Tool[Any, Any], value: Any, who: str) -> ToolError:
    wanted = getattr(tool.output, "__name__", str(tool.output))
    reason = f"{who} returned {type(value).__name__} where {tool.name} promises {wanted}."
    return ToolError(reason, code="internal")


@cache
def _adapter(wanted: Any) -> TypeAdapter[Any]:
    return TypeAdapter(wanted)


def serialize(tool: Tool[Any, Any], value: Any, hooks: BoundHooks) -> tuple[Block, ...]:
    """What the model reads of a value: by the first hook that words it, else by the tool."""
    for hook in hooks.serialize_result:
        said = hook(tool, value)
        if said is not None:
            return tuple(checked(block) for block in said)
    content = tool.content(value)
    if isinstance(content, str):
        return (Text(content),)
    blocks = (content,) if isinstance(content, (Text, Image, Document)) else content
    return tuple(checked(block) for block in blocks)


def checked(block: Block) -> Block:
    """The block with its true type, or a sentence in its place when it cannot be what it says."""
    if isinstance(block, Text):
        return block
    what = "document" if isinstance(block, Document) else "image"
    if len(block.data) > MOST:
        return Text(f"(An {what} of {len(block.data)} bytes was omitted: the limit is {MOST}.)")
    if isinstance(block, Document):
        fits = block.data.startswith(b"%PDF-") and b"%%EOF" in block.data[-2048:]
        return block if fits or block.media_type != "application/pdf" else _broken("document", block.media_type)
    found = _kind(block.data)
    if not found:
        return _broken("image", block.media_type)
    return block if found == block.media_type else Image(block.data, found)


def _broken(what: str, media_type: str) -> Text:
    return Text(f"(The {what} is not an intact {media_type} file and was omitted.)")


def _kind(data: bytes) -> str:
    """The media type by content, or nothing when the file is not whole."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png" if _is_whole_png(data) else ""
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg" if b"\xff\xd9" in data[-64:] else ""
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif" if data.rstrip(b"\0").endswith(b"\x3b") else ""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp" if int.from_bytes(data[4:8], "little") + 8 <= len(data) else ""
    return ""


def _is_whole_png(data: bytes) -> bool:
    at, names = 8, set[bytes]()
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        body, end = data[at + 4 : at + 8 + length], at + 12 + length
        if end > len(data) or zlib.crc32(body) != int.from_bytes(data[end - 4 : end], "big"):
            return False
        names.add(body[:4])
        if body[:4] == b"IEND":
            return names >= {b"IHDR", b"IDAT"}
        at = end
    return False
