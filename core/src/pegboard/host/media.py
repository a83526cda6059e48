"""Look at media before it enters a conversation: one broken picture must not poison a session.

The check is structural and needs no library. Tools that decode pictures do so in their own plugin.
"""

from __future__ import annotations

import zlib

from pegboard.calls import Block, Document, Image, Text

MOST = 5_000_000
"""What a provider takes, in encoded bytes."""


def checked(block: Block) -> Block:
    """The block with its true type, or a sentence in its place when it cannot be what it says."""
    if isinstance(block, Text):
        return block
    what = "document" if isinstance(block, Document) else "image"
    if len(block.data) > MOST:
        return Text(f"(An {what} of {len(block.data)} bytes was left out: the limit is {MOST}.)")
    if isinstance(block, Document):
        fits = block.data.startswith(b"%PDF-") and b"%%EOF" in block.data[-2048:]
        return block if fits or block.media_type != "application/pdf" else _broken("document", block.media_type)
    found = _kind(block.data)
    if not found:
        return _broken("image", block.media_type)
    return block if found == block.media_type else Image(block.data, found)


def _broken(what: str, media_type: str) -> Text:
    return Text(f"(The {what} is not a whole {media_type} file and was left out.)")


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
