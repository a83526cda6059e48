"""Convert a response into something to show: text, an image, or a file on disk."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any

from pegboard_http import without_invisible
from pegboard_webfetch.charsets import decoded
from pegboard_webfetch.saved_files import saved
from pegboard_webfetch.urls import Url

HTML = frozenset({"text/html", "application/xhtml+xml"})
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MEDIA_TYPE = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+_-]{1,80}")
TEXTUAL = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|toml|javascript|ecmascript|x-javascript|x-yaml|x-sh|sql|graphql|"
    r"x-ndjson|jsonl|rtf|x-httpd-php|x-www-form-urlencoded)|image/svg\+xml|message/.*"
)
QUICK = 20_000
LARGEST_PICTURE = 5_000_000
MOST_PDF_PAGES = 300
SNIFFED = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE | re.DOTALL
)


@dataclass(slots=True)
class Page:
    """One answer of a server, converted; this is what the cache keeps."""

    url: Url
    status: int
    reason: str
    content_type: str
    size: int
    text: str = ""
    title: str = ""
    picture: bytes = b""
    path: str = ""
    notes: list[str] = field(default_factory=list)
    is_cut: bool = False
    is_private: bool = False

    @property
    def weight(self) -> int:
        """Its approximate size in memory."""
        return len(self.text) * 2 + len(self.picture) + 2_000


def fill(page: Page, body: bytes, header: str, format: str) -> None:
    """Convert the body to the requested format. Blocking, and slow for large pages: call it in a thread."""
    kind = media_type(header, body)
    page.content_type = kind
    if kind in PICTURES:
        _show(page, body, kind)
    elif kind == "application/pdf" and (text := _pdf_text(body, page)):
        _set_text(page, text)
    elif kind in HTML:
        source, _ = decoded(body, header)
        _fill_html(page, source, format)
    elif TEXTUAL.fullmatch(kind):
        text, _ = decoded(body, header)
        _set_text(page, _pretty(text) if kind.endswith("json") and format != "raw" else text)
    elif body:
        _save(page, body, kind)


def is_quick(body: bytes, header: str) -> bool:
    """Whether converting the body is faster than starting a thread: short text that needs no conversion."""
    kind = media_type(header, body)
    return len(body) < QUICK and kind not in HTML and bool(TEXTUAL.fullmatch(kind)) and body.isascii()


def media_type(header: str, body: bytes) -> str:
    """The media type that the server declares; if none or a generic one, it is detected from the body."""
    said = header.partition(";")[0].strip().lower()
    if not MEDIA_TYPE.fullmatch(said):
        said = ""  # The header is the server's text and could contain instructions to the model.
    if said and said not in ("application/octet-stream", "binary/octet-stream", "unknown/unknown"):
        return said
    if SNIFFED.match(body[:4096]):
        return "text/html"
    if body.startswith(b"%PDF-"):
        return "application/pdf"
    try:
        text = body[:4096].decode()
    except UnicodeDecodeError as error:
        text = body[: error.start].decode() if error.start > 4090 else "\0"
    return said or "application/octet-stream" if "\0" in text else "text/plain"


def _fill_html(page: Page, source: str, format: str) -> None:
    if format in ("html", "raw"):
        _set_text(page, source)
        return
    from pegboard_webfetch.html import converted  # lxml costs 30 ms; answers that are not HTML do without.

    found = converted(source, str(page.url), plain=format == "text")
    page.title = without_invisible(found.title)[0]
    page.notes += found.notes
    _set_text(page, found.text)


def _set_text(page: Page, text: str) -> None:
    page.text, count = without_invisible(text.replace("\r\n", "\n"))
    if count:
        what = "1 invisible character was" if count == 1 else f"{count} invisible characters were"
        page.notes.append(f"{what} removed from the text.")


def _pretty(text: str) -> str:
    """JSON with one value per line; invalid JSON, or JSON that would change by being parsed, is left as it is."""
    try:
        return json.dumps(json.loads(text, object_pairs_hook=_no_twins), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated, and one value would be lost")
    return found


def _show(page: Page, body: bytes, kind: str) -> None:
    """An image small enough for a model; the core checks it again before it is sent."""
    try:
        from pegboard_media import MediaError, fit_picture  # An optional library, and 0.1 s that only a picture needs.
    except ImportError:
        page.picture = body if len(body) <= LARGEST_PICTURE else b""
    else:
        try:
            page.picture = fit_picture(body).data
        except MediaError as error:
            page.notes.append(f"The image cannot be shown. {error}")
    if not page.picture:
        _save(page, body, kind)


def _pdf_text(body: bytes, page: Page) -> str:
    """The text of a PDF, where the library for it is installed; empty means the file is saved instead."""
    try:
        from pegboard_media import MediaError, open_pdf  # An optional library, and 0.2 s that only a PDF needs.
    except ImportError:
        return ""
    pieces: list[str] = []
    try:
        with open_pdf(body) as document:
            pieces += [
                f"Page {number + 1} of {document.pages}\n\n{document.text(number).strip()}"
                for number in range(min(document.pages, MOST_PDF_PAGES))
            ]
            if document.pages > MOST_PDF_PAGES:
                page.notes.append(f"Only the first {MOST_PDF_PAGES} of {document.pages} pages were read.")
    except (MediaError, ImportError) as error:
        page.notes.append(f"The PDF could not be read. {error}")
        return ""
    return "\n\n".join(pieces)


def _save(page: Page, body: bytes, kind: str) -> None:
    try:
        page.path = str(saved(body, page.url, kind, os.environ))
    except OSError as error:
        page.notes.append(f"It could not be saved: {error.strerror}.")
