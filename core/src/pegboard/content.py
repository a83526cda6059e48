"""What the model reads, checked, and as the plain data of a request.

Media is looked at before it enters a conversation: one broken picture must not poison a session. That check is
structural and needs no library; tools that decode pictures do so in their own plugin.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from typing import Any

from pegboard.calls import Block, Document, Image, Result, Text

# Imports happen inside functions: a session starts without pydantic, which takes 60 ms.

MOST = 5_000_000
"""What a provider takes, in encoded bytes."""


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


def text_size(blocks: Iterable[Block]) -> int:
    """How many characters of text there are."""
    size = 0
    for block in blocks:  # On the way of each call: a generator takes twice as long.
        if isinstance(block, Text):
            size += len(block.text)
    return size


def cut(blocks: Iterable[Block], limit: int, name: str) -> tuple[Block, ...]:
    """Content within a limit of characters: the rest is left out, and a remark says so. Pictures stay."""
    shown: list[Block] = []
    size, left = 0, limit
    for block in blocks:
        if isinstance(block, Text):
            size += len(block.text)
            block, left = Text(block.text[:left]), max(left - len(block.text), 0)
        shown.append(block)
    remark = f"The result of {name} has {size:,} characters; only the first {limit:,} are shown."
    return (*shown, Text(f"[{remark} To see more, ask for a smaller part.]"))


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


def jsonable(value: object) -> Any:
    """The value as plain data."""
    from pydantic_core import to_jsonable_python

    try:
        return to_jsonable_python(value, fallback=str)
    except ValueError:  # A model with bytes in it insists on text; opened up, it does not.
        return to_jsonable_python(_opened(value), bytes_mode="base64", fallback=str)


def json_text(value: object) -> str:
    """The value as JSON text."""
    from pydantic_core import to_json

    try:
        return to_json(value, fallback=str).decode()
    except ValueError:
        return to_json(_opened(value), bytes_mode="base64", fallback=str).decode()


def _opened(value: object) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter[Any](Any).dump_python(value, by_alias=True)
