"""The text and the pages of a PDF."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pegboard_media.errors import MediaError
from pegboard_media.pictures import Picture, fit_picture

LONGEST_SIDE = 1568
POINTS_PER_INCH = 72
DPI = 150

_one_at_a_time = threading.Lock()
"""PDFium is not thread-safe, not even across documents."""

NO_PAGES = re.compile(rb"/Count\s+0\b")


class Pdf:
    """An open document. Pages are counted from 0 here, and from 1 in what people read."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.pages = len(document)

    def text(self, page: int) -> str:
        """The text layer of a page, empty when it has none."""
        opened = self._document[page]
        try:
            layer = opened.get_textpage()
            try:
                text: str = layer.get_text_bounded()
                return text.replace("\r\n", "\n").replace("\r", "\n")
            finally:
                layer.close()
        finally:
            opened.close()

    def picture(self, page: int) -> Picture:
        """The page as an image, no larger than a model can see."""
        opened = self._document[page]
        try:
            longest = max(opened.get_size()) or 1.0
            scale = min(DPI / POINTS_PER_INCH, LONGEST_SIDE / longest)
            buffer = io.BytesIO()
            opened.render(scale=scale).to_pil().convert("RGB").save(buffer, "PNG")
        finally:
            opened.close()
        return fit_picture(buffer.getvalue())


@contextmanager
def open_pdf(data: bytes) -> Generator[Pdf, None, None]:
    """Open a document for the `with` block; other threads wait. A `MediaError` says why it cannot be opened."""
    # Imported late: it takes 178 ms, and only a PDF needs it.
    import pypdfium2  # type: ignore[import-untyped]

    with _one_at_a_time:
        try:
            document: Any = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise MediaError(_reason(error, data)) from None
        try:
            yield Pdf(document)
        except pypdfium2.PdfiumError as error:
            raise MediaError(f"One of its pages is damaged: {error}.") from None
        finally:
            document.close()


def _reason(error: Exception, data: bytes) -> str:
    """PDFium may report the error of an earlier document, so the error is checked against the bytes."""
    if "password" in str(error).lower() and b"/Encrypt" in data:
        return "It is encrypted with a password. Ask the user for a copy without one."
    if NO_PAGES.search(data):
        return "It has no pages."
    return "It is damaged and cannot be parsed."
