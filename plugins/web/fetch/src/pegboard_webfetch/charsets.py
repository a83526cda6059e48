"""Find a text's encoding: byte order mark, header, the page's own declaration, UTF-8, and finally a guess."""

from __future__ import annotations

import codecs
import re

HEAD = 4096
"""How far into a page its own declaration is searched for."""
LEAST = 64
"""A guess needs this many bytes; below, the most common single-byte encoding is the better guess."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_IN_PAGE = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|^\s*<\?xml[^>]{0,80}?encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_UNFIT = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7", "mbcs", "oem"})
"""Python codecs that are not web encodings, or that an attacker could make slow."""
_WIDER = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932"}
"""What browsers use for these labels: a superset."""


def decoded(body: bytes, content_type: str) -> tuple[str, str]:
    """The text and the name of its encoding. Never fails: what cannot be decoded becomes U+FFFD."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace"), name
    if name := _usable(_said_by_header(content_type)) or _usable(_said_by_page(body)):
        return body.decode(name, "replace"), name
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # A body that was cut may end in the middle of a character; one such byte alone proves nothing.
        if error.start >= len(body) - 3 and not body[: error.start].isascii():
            return body.decode("utf-8", "replace"), "utf-8"
    name = _guessed(body)
    return body.decode(name, "replace"), name


def _said_by_header(content_type: str) -> str:
    found = _IN_HEADER.search(content_type)
    return found[1] if found else ""


def _said_by_page(body: bytes) -> str:
    found = _IN_PAGE.search(body[:HEAD])
    name = (found[1] or found[2]).decode("ascii") if found else ""
    # A page in which ASCII was found is not UTF-16, whatever it declares.
    return "utf-8" if name.lower().startswith("utf-16") else name


def _usable(name: str) -> str:
    try:
        codec = codecs.lookup(name) if name else None
    except (LookupError, ValueError):
        return ""
    if codec is None or codec.name.replace("_", "-") in _UNFIT or not getattr(codec, "_is_text_encoding", True):
        return ""
    return _WIDER.get(codec.name, codec.name)


def _guessed(body: bytes) -> str:
    if len(body) < LEAST:
        return "cp1252"
    from charset_normalizer import from_bytes  # Imported late: 20 ms that few pages need.

    best = from_bytes(body[:100_000]).best()
    return (_usable(best.encoding) if best else "") or "cp1252"
