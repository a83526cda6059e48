"""Detect the media type of bytes, whatever their file is called."""

from __future__ import annotations

HEIF = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif")
HEAD_BYTES = 64
"""How many bytes of a file are needed to detect its type."""


def media_type_of(head: bytes) -> str:
    """The media type by the first bytes; empty when they begin no known image or document."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    if head.startswith((b"II*\0", b"MM\0*")):
        return "image/tiff"
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0" and head[14:18] in (b"\x28\0\0\0", b"\x6c\0\0\0", b"\x7c\0\0\0"):
        return "image/bmp"
    if head[4:8] == b"ftyp" and head[8:12] in HEIF:
        return "image/heic"
    return ""
